# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
"""The parts of the comparison. Each returns rows or values for the JSON result."""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

from contenders import Torch, Ttt, in_turns

# Model, side of the pictures, batch, and the DeiT of the same size.
SHAPES = (("vit3_t", 224, 8, "deit_tiny_patch16_224"), ("vit3_s", 224, 8, "deit_small_patch16_224"),
          ("hvit3_t", 224, 8, "deit_small_patch16_224"), ("vit3_t", 512, 2, "deit_tiny_patch16_224"),
          ("vit3_t", 1024, 1, "deit_tiny_patch16_224"))
LINEAR_SIDES = (224, 512, 1024, 2048)
PATCH = 16


def name_of(model, size, batch):
    """What --only is compared with."""
    return f"{model} {size} b{batch}"


def other_rows(rows, options):
    """Rows measured before that --only leaves alone."""
    return [row for row in rows if options.only and
            not name_of(row["model"], row["size"], row["batch"]).startswith(options.only)]


def shapes(options):
    for model, size, batch, deit in SHAPES:
        if name_of(model, size, batch).startswith(options.only):
            print(f"  {model}, {size}x{size}, batch {batch}", file=sys.stderr, flush=True)
            yield model, size, batch, deit


def forward(options):
    """Pictures a second of each contender, and the part of the roofline that ttt reaches."""
    rows = []
    for model, size, batch, deit in shapes(options):
        contenders = {}
        for dtype in ("fp32", "bf16"):
            contenders[f"ttt {dtype}"] = Ttt(options, model, size, batch, dtype)
            for name, theirs in (("pytorch", model), ("deit", deit)):
                for compiled in (False, True):
                    key = f"{name} {'compiled' if compiled else 'eager'} {dtype}"
                    contenders[key] = Torch(options, theirs, size, batch, dtype, compiled)
        seconds = in_turns(contenders, options)
        ours = {dtype: contenders[f"ttt {dtype}"] for dtype in ("fp32", "bf16")}
        rows.append({"model": model, "size": size, "batch": batch, "deit": deit,
                     "images_per_s": {name: batch / time for name, time in seconds.items()},
                     "roofline_share": {dtype: statistics.median(one.shares)
                                        for dtype, one in ours.items()},
                     "roofline_gflops": {dtype: statistics.median(one.rooflines)
                                         for dtype, one in ours.items()}})
    return rows


def training(options):
    """Seconds and memory of a training step."""
    rows = []
    for model, size, batch, _ in shapes(options):
        for dtype in ("fp32", "bf16"):
            makers = {"ttt": lambda: Ttt(options, model, size, batch, dtype, training=True),
                      "pytorch": lambda: Torch(options, model, size, batch, dtype, training=True)}
            memory = {}
            for name, make in makers.items():  # in processes of their own
                contender = make()
                memory[name] = contender.memory()
                contender.close()
            seconds = in_turns({name: make() for name, make in makers.items()}, options)
            rows.append({"model": model, "size": size, "batch": batch, "dtype": dtype,
                         "seconds": seconds, "memory_mib": memory})
    return rows


def linear(options):
    """Seconds a picture over the size, for ViT3-T and DeiT-T in bf16."""
    rows = []
    for size in LINEAR_SIDES:
        seconds = in_turns({"ttt": Ttt(options, "vit3_t", size, 1, "bf16"),
                            "deit": Torch(options, "deit_tiny_patch16_224", size, 1, "bf16")},
                           options)
        rows.append({"size": size, "tokens": (size // PATCH) ** 2, "seconds": seconds})
    return rows


def memory(options):
    """MiB above the loaded model of one picture of 2048x2048."""
    result = {"size": 2048}
    for dtype in ("fp32", "bf16"):
        theirs = Torch(options, "vit3_t", 2048, 1, dtype)
        result[dtype] = {"ttt": Ttt(options, "vit3_t", 2048, 1, dtype).memory(),
                         "pytorch": theirs.memory()}
        theirs.close()
    return result


def write_pictures(folder, count):
    """JPEGs of 500x400 with the detail of photographs: soft shapes and some grain."""
    import numpy
    from PIL import Image
    random = numpy.random.default_rng(3)
    for i in range(count):
        coarse = Image.fromarray(random.integers(0, 256, (12, 15, 3), "uint8"))
        pixels = numpy.asarray(coarse.resize((500, 400), Image.BICUBIC), "float32")
        pixels = pixels + random.normal(0, 6, pixels.shape)
        Image.fromarray(pixels.clip(0, 255).astype("uint8")).save(folder / f"{i:04}.jpg",
                                                                   quality=90)


def folder(options):
    """Pictures a second of `ttt classify` on a folder, and of the bare model, in turns."""
    count = 40 if options.quick else 1000
    result = {"pictures": count}
    with tempfile.TemporaryDirectory() as name:
        write_pictures(pathlib.Path(name), count)
        for model, dtype in (("vit3_s", "fp32"), ("vit3_t", "bf16")):
            command = [options.ttt, "classify", name, "--model", model, "--random-weights",
                       "--dtype", dtype, "--batch", "8", "--threads", str(options.threads),
                       "--format", "jsonl", "--quiet"]
            bare, rates = Ttt(options, model, 224, 8, dtype), []
            bare.measure(options.repetitions)
            for _ in range(options.rounds):
                out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
                rates.append(count * 1000 / json.loads(out.splitlines()[-1])["total_time_ms"])
                bare.measure(options.repetitions)
            result[f"{model} {dtype}"] = {"images_per_s": statistics.median(rates),
                                          "bare_images_per_s":
                                              8 / statistics.median(bare.seconds)}
    return result


def accuracy(options):
    """Top-1 of the shipped CIFAR-10 models in fp32 and bf16; empty without --data."""
    result = {}
    if not options.data:
        print("  left out: it needs --data cifar10.tar", file=sys.stderr)
        return result
    root = pathlib.Path(__file__).resolve().parent.parent.parent
    for weights in sorted((root / "assets").glob("cifar10_*.safetensors")):
        result[weights.stem] = {}
        for dtype in ("fp32", "bf16"):
            command = [options.ttt, "classify", "--weights", str(weights), "--dtype", dtype,
                       "--batch", "64", "--threads", str(options.threads), "--format", "jsonl",
                       "--quiet", options.data]
            out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            result[weights.stem][dtype] = json.loads(out.splitlines()[-1])["accuracy"]["top1"]
    return result


LACT_DIMS = (384, 512, 768, 1024)
# Calls of the registry of operations, by how their names begin.
LACT_CALLS = {"apply": "swiglu_fast_weights apply", "gradient": "swiglu_fast_weights gradient",
              "Newton-Schulz": "newton_schulz", "whole update": "fast_weight_update chunk"}


def lact(options):
    """The part of the roofline that the operations of LaCT reach, one head as wide as the model."""
    found = {}
    command = [options.ttt, "bench", "--threads", str(options.threads), "--dtype", "fp32", "--dtype",
               "bf16", "--repetitions", str(options.repetitions), "--warm-up", "1", "--format",
               "jsonl", "--quiet"]
    for op in ("swiglu_fast_weights", "newton_schulz", "fast_weight_update"):
        command += ["--op", op]
    for dim in LACT_DIMS:
        command += ["--case", f"*heads1 d{dim} h*", "--case", f"one head ?3, {dim},*"]
    for _ in range(options.rounds):
        out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        for row in map(json.loads, out.splitlines()[:-1]):
            name = f"{row['name']} {row['case']}"
            call = next(key for key, start in LACT_CALLS.items() if name.startswith(start))
            dim = next(dim for dim in LACT_DIMS if f" d{dim} " in name or f"[3, {dim}," in name)
            found.setdefault((call, dim, row["dtype"]), []).append(row)
    return [{"call": call, "dim": dim, "dtype": dtype,
             **{key: statistics.median(row[key] for row in rows)
                for key in ("time_ms", "gflops", "roofline_gflops", "roofline_share")}}
            for (call, dim, dtype), rows in found.items()]
