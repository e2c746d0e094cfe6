#!/usr/bin/env python3
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
"""Writes a small LaCT-LVSM model with random weights. usage: lvsm_weights.py OUT.safetensors"""
import array
import json
import math
import random
import struct
import sys

DIM, HEADS, HEAD, LAYERS, PATCH = 32, 2, 16, 2, 4
CONFIG = {
    "patch_size": PATCH,
    "dim": DIM,
    "layers": LAYERS,
    "block": [
        {"kind": "attention", "head_dim": HEAD, "use_qk_norm": True},
        {"kind": "fast_weights", "head_dim": HEAD, "inter_multi": 2.0, "base_lr": 0.01,
         "muon_update_steps": 5},
        {"kind": "mlp", "inter_multi": 4.0},
    ],
}


def shapes():
    yield "input_linear.weight", (DIM, 12 * PATCH * PATCH)
    yield "input_layernorm.weight", (DIM,)
    for block in range(LAYERS):
        attention, fast, mlp = (f"blocks.{block}.module_list.{i}." for i in range(3))
        for part in (attention, fast):
            yield part + "ln.weight", (DIM,)
            yield part + "f.to_qkv.weight", (3 * DIM, DIM)
            yield part + "f.c_proj.weight", (DIM, DIM)
        for norm in ("q_norm", "k_norm"):
            yield f"{attention}f.{norm}.weight", (HEAD,)
        for name, shape in (("w0", (HEAD, 2 * HEAD)), ("w1", (2 * HEAD, HEAD)),
                            ("w2", (HEAD, 2 * HEAD))):
            yield f"{fast}f.{name}", (HEADS, *shape)
        yield fast + "f.lr_fc.weight", (3 * HEADS, DIM)
        yield fast + "f.lr_fc.bias", (3 * HEADS,)
        yield fast + "f.o_norm.weight", (HEAD,)
        yield mlp + "ln.weight", (DIM,)
        yield mlp + "f.c_fc.weight", (4 * DIM, DIM)
        yield mlp + "f.c_proj.weight", (DIM, 4 * DIM)
    yield "image_token_decoder.0.weight", (DIM,)
    yield "image_token_decoder.1.weight", (3 * PATCH * PATCH, DIM)


def main():
    generator = random.Random(0)
    header = {"__metadata__": {"ttt_lvsm_config": json.dumps(CONFIG)}}
    data = array.array("f")
    for name, shape in shapes():
        centre = 1.0 if len(shape) == 1 and not name.endswith("bias") else 0.0
        begin = 4 * len(data)
        data.extend(generator.gauss(centre, 0.15) for _ in range(math.prod(shape)))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, 4 * len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    if sys.byteorder == "big":
        data.byteswap()
    with open(sys.argv[1], "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data.tobytes())


if __name__ == "__main__":
    main()
