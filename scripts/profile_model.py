#!/usr/bin/env python3
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
"""Where the time of a model goes, by `perf` (the Debian package linux-perf), as a Markdown table.

usage: scripts/profile_model.py [--program build/release/apps/ttt] [--model vit3_t] [--size 224]
                                [--dtype fp32] [--batch 8] [--batches 24] [--threads 1]
It labels copies of one picture and leaves out what belongs to decoding and to start-up. The tables in
docs/performance.md come from it.
"""

import argparse
import json
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent

# The first expression that fits a symbol names its part. Code that oneDNN generates has no symbol.
PARTS = [
    ("matrix products", r"^0x[0-9a-f]+$|^\[\.\] 0x|\[unknown\]|jit_|brgemm|^mkl_|sgemm|gemm_kernel"),
    ("linear maps: what follows the product", r"finish_with|::finish\b"),
    ("packing of factors", r"pack|transpose|ttt::ops::\w+::\(anonymous namespace\)::convert"),
    ("TTT gated linear", r"gated|step_tile|apply_tile"),
    ("depthwise convolutions", r"[Dd]epthwise|tap_sums|outputs<|row_"),
    ("rotary embedding", r"rope"),
    ("layer norm", r"[Ll]ayer_?[Nn]orm|RowwiseMoments"),
    ("elementwise and copies", r"vectorized_loop|VectorizedLoop|copy_|memcpy|memmove|memset|loop_2d|"
                               r"TensorIterator|Sleef|gelu|cpu_kernel"),
    ("memory of the system", r"page|clear_|mmap|munmap|brk|malloc|free|fault|\[k\]"),
    ("LibTorch's dispatch", r"at::|c10::|torch::"),
]
OUTSIDE = re.compile(r"jpeg|inflate|png|decode|resize|resample|Pillow|Preprocess|preprocess|crc|adler|"
                     r"safetensors|normal_|philox|mt19937|_dl_|do_lookup|truncated|uniform", re.I)


def part_of(symbol):
    for name, expression in PARTS:
        if re.search(expression, symbol):
            return name
    return "other"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=str(ROOT / "build/release/apps/ttt"))
    parser.add_argument("--model", default="vit3_t")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--dtype", default="fp32")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--batches", type=int, default=24)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--symbols", action="store_true", help="list the symbols too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        listing = pathlib.Path(folder) / "list.txt"
        picture = ROOT / "assets/samples/toy.png"
        listing.write_text(f"{picture}\n" * (options.batch * options.batches))
        data = pathlib.Path(folder) / "perf.data"
        size = f"{options.size}x{options.size}"
        command = [options.program, "classify", "-q", "--list", str(listing), "--format", "jsonl",
                   "--model", options.model, "--random-weights", "--dtype", options.dtype,
                   "--batch", str(options.batch), "--size", size, "--threads",
                   str(options.threads)]
        result = subprocess.run(["perf", "record", "-q", "-F", "999", "-o", str(data), "--", *command],
                                check=True, stdout=subprocess.PIPE, text=True)
        report = subprocess.run(["perf", "report", "-i", str(data), "--stdio", "--no-children", "-q",
                                 "--sort", "symbol", "-F", "sample,symbol", "-w", "0"],
                                check=True, stdout=subprocess.PIPE, text=True).stdout
    samples, symbols = {}, []
    for line in report.splitlines():
        match = re.match(r"\s*(\d+)\s+(.*\S)", line)
        if not match or OUTSIDE.search(match[2]):
            continue
        name = re.sub(r"^\[[.k]\] ", "", match[2]) if "[k]" not in match[2] else match[2]
        part = part_of(name)
        samples[part] = samples.get(part, 0) + int(match[1])
        symbols.append((int(match[1]), part, name))
    total = sum(samples.values())
    seconds = json.loads(result.stdout.splitlines()[-1])["total_time_ms"] / 1000
    print(f"{options.model}, {size}, batch {options.batch}, {options.dtype}, {options.threads} thread(s):"
          f" {options.batch * options.batches / seconds:.1f} pictures/s with decoding,"
          f" {total / 999 / options.batch / options.batches * 1000:.2f} ms of CPU a picture\n")
    print("| part | share |\n|---|---|")
    for part, count in sorted(samples.items(), key=lambda item: -item[1]):
        print(f"| {part} | {100 * count / total:.1f} % |")
    if options.symbols:
        for count, part, name in sorted(symbols, reverse=True)[:40]:
            print(f"{100 * count / total:5.1f} %  {part:30.30}  {name[:110]}")


if __name__ == "__main__":
    main()
