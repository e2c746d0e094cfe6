#!/usr/bin/env python3
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
"""Where the time of a model goes: `ttt bench` under `perf` (Debian: linux-perf), as a Markdown table.

usage: scripts/profile_model.py [--program build/release/apps/ttt] [--model vit3_t] [--size 224]
           [--batch 8] [--dtype fp32] [--pass forward] [--threads 1] [--repetitions 20] [--symbols]
The tables in docs/performance.md come from it. Shares are of the CPU time after the start-up, so they
hold on a busy machine too; rates don't.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
START_UP_MS = 1500  # loading LibTorch, random weights

# The first expression that fits "object symbol" names the part.
PARTS = [
    ("rotary embedding", r"rope|rotate"),
    ("TTT: gated linear maps", r"step_products|apply_as|::accumulate|gated|TokenTile"),
    ("depthwise convolutions", r"row_with_stride|tap_sums|spread|[Dd]epthwise"),
    ("behind the products: bias, activation, residual", r"ttt::ops::\w+::.*(finish|slope|column_sums)"),
    ("packing and transposing of factors", r"ttt::ops::\w+::.*(pack|transpose|convert)"),
    ("layer norm", r"LayerNorm|layer_norm|RowwiseMoments|ttt::ops::\w+::.*normalise"),
    ("kernel: pages", r"\[kernel|\[k\]"),
    ("allocation and copies", r"libc\.so|copy_kernel|copy_|memcpy|memmove|memset"),
    # oneDNN generates its code: it has no symbols and lies in no file.
    ("matrix products", r"\[JIT\]|//anon|\[unknown\]|memfd|jit|brgemm|dnnl|mkl|gemm"),
    ("LibTorch: elementwise", r"vectorized|VectorizedLoop|loop_2d|TensorIterator|Sleef|cpu_kernel|reduce"),
    ("LibTorch: the rest", r"libtorch|libc10|at::|c10::|torch::"),
]


def fail(what, hint, status=1):
    print(f"error: {what}\nhint: {hint}", file=sys.stderr)
    sys.exit(status)


def output_of(command):
    """Its standard output; ends the program with what it said when it fails."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if result.returncode != 0:
        lines = result.stderr.strip().splitlines()
        why = next((line for line in lines if line.startswith("error: ")), lines[-1] if lines else "")
        fail(f"exit status {result.returncode} of {' '.join(command)}: {why.removeprefix('error: ')}",
             "run that by itself")
    return result.stdout


def record(command, data):
    row = output_of(["perf", "record", "-q", "-F", "999", "--delay", str(START_UP_MS), "-o", str(data),
                     "--", *command]).splitlines()[0]
    report = output_of(["perf", "report", "-i", str(data), "--stdio", "--no-children", "-q", "--sort",
                        "dso,symbol", "-F", "sample,dso,symbol", "-w", "0,60,200"])
    counted = []
    for line in report.splitlines():
        match = re.match(r"\s*(\d+)\s+(\S.*\S)", line)
        if match:
            counted.append((int(match[1]), re.sub(r"\s+", " ", match[2])))
    return json.loads(row), counted


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=str(ROOT / "build/release/apps/ttt"))
    for name, default in (("model", "vit3_t"), ("size", "224"), ("batch", "8"), ("dtype", "fp32"),
                          ("pass", "forward"), ("threads", "1"), ("repetitions", "20")):
        parser.add_argument("--" + name, default=default)
    parser.add_argument("--symbols", action="store_true", help="list the symbols too")
    options = parser.parse_args()
    if not (pathlib.Path(options.program).is_file() and os.access(options.program, os.X_OK)):
        fail(f"there is no program {options.program}", "scripts/build.sh builds it, or give --program", 2)
    if shutil.which("perf") is None:
        fail("perf was not found", "install it; Debian's package is linux-perf", 2)
    command = [options.program, "bench", "-q", "--model", options.model,
               "--size", f"{options.size}x{options.size}", "--batch", options.batch,
               "--dtype", options.dtype, "--pass", getattr(options, "pass"),
               "--threads", options.threads, "--repetitions", options.repetitions,
               "--format", "jsonl"]
    with tempfile.TemporaryDirectory() as folder:
        row, counted = record(command, pathlib.Path(folder) / "perf.data")
    total = sum(count for count, _ in counted)
    if total == 0:
        fail(f"the run ended within the {START_UP_MS} ms of its start-up", "give more --repetitions")
    shares, named = {}, []
    for count, symbol in counted:
        part = next((name for name, fits in PARTS if re.search(fits, symbol)), "other")
        shares[part] = shares.get(part, 0) + count
        named.append((count, part, symbol))
    print(f"{options.model}, {options.size}², batch {options.batch}, {options.dtype}, "
          f"{getattr(options, 'pass')}, {options.threads} thread(s): {row['images_per_s']:.1f} pictures/s, "
          f"{row['gflops'] or 0:.0f} GFLOP/s, {100 * (row['roofline_share'] or 0):.0f} % of the products' "
          f"rate; fastest pass {row['min_ms']:.0f} ms\n")
    print("| part | share |\n|---|---|")
    for part, count in sorted(shares.items(), key=lambda item: -item[1]):
        print(f"| {part} | {100 * count / total:.1f} % |")
    if options.symbols:
        for count, part, symbol in sorted(named, reverse=True)[:45]:
            print(f"{100 * count / total:5.1f} %  {part:26.26}  {symbol[:120]}")


if __name__ == "__main__":
    main()
