# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
"""Shows that the PyTorch models of the comparison compute what ttt does."""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import torch
from PIL import Image
from safetensors.torch import save_file

from models import build

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
TOLERANCE = 1e-4  # of the largest score, fp32


def randomize(model):
    """Weights for which every part of the model matters."""
    torch.manual_seed(1)
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if name.endswith("running_var"):
                tensor.uniform_(0.5, 1.5)
            elif name.endswith(("running_mean", "bias")):
                tensor.normal_(0, 0.1)
            elif "norm" in name and tensor.is_floating_point():
                tensor.uniform_(0.5, 1.5)
            elif tensor.is_floating_point():
                fan_in = tensor.shape[-1] if tensor.dim() in (2, 4) and "attn.w" in name else \
                    tensor[0].numel()
                tensor.normal_(0, fan_in ** -0.5)


def picture(path, size):
    pixels = numpy.random.default_rng(2).integers(0, 256, (size // 8, size // 8, 3), "uint8")
    Image.fromarray(pixels).resize((size, size), Image.BICUBIC).save(path)
    values = torch.from_numpy(numpy.array(Image.open(path))).float() / 255
    return ((values - torch.tensor(MEAN)) / torch.tensor(STD)).permute(2, 0, 1)[None]


def difference(options, name, size=224):
    """The largest difference of scores, relative to the largest score."""
    model = build(name).eval()
    randomize(model)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        images = picture(folder / "picture.png", size)
        save_file({key: value.contiguous() for key, value in model.state_dict().items()},
                  folder / "weights.safetensors")
        command = [options.ttt, "classify", "--weights", folder / "weights.safetensors", "--size",
                   f"{size}x{size}", "--crop-pct", "1", "--mean", ",".join(map(str, MEAN)), "--std",
                   ",".join(map(str, STD)), "--logits", "--format", "jsonl", "--quiet",
                   folder / "picture.png"]
        out = subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE,
                             text=True).stdout
    ours = torch.tensor(json.loads(out.splitlines()[0])["logits"])
    with torch.inference_mode():
        theirs = model(images)[0]
    return float((ours - theirs).abs().max() / theirs.abs().max())


def check(options, names):
    for name in names:
        error = difference(options, name)
        print(f"{name}: scores of ttt and PyTorch differ by {error:.1e} of the largest",
              file=sys.stderr, flush=True)
        if not error < TOLERANCE:
            sys.exit(f"error: ttt and PyTorch compute different scores ({name}: {error:.1e})")
