#!/usr/bin/env python3
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
"""Measures ttt against PyTorch (eager, torch.compile) and timm's DeiT, in turns.

usage: bench_vs_pytorch.py [TTT] [--parts forward,training,linear,memory,folder,accuracy,lact]
           [--only TEXT] [--rounds N] [--repetitions N] [--threads N] [--data cifar10.tar]
           [--output FILE] [--add] [--write] [--check] [--quick]
TTT is the program (default: build/release/apps/ttt). PyTorch's side is in pytorch_baseline/; that it
computes the same scores is checked first. --add keeps the other parts of FILE, and the rows that
--only leaves out, if they were measured with the same program on the same machine. --write puts the
table into README.md and the plot into docs/; the part lact measures ttt alone, against the fastest
matrix product of the same minutes; --check exits with 1 where a ratio falls short, the last line
naming it; --quick is one short round, for a look at whether everything runs.
"""
import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "pytorch_baseline"))
import environment  # noqa: E402  (the others need what it installs)

PARTS = ("forward", "training", "linear", "memory", "folder", "accuracy", "lact")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ttt", nargs="?", default=str(ROOT / "build/release/apps/ttt"))
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--only", default="", help="rows of forward and training whose name begins so: vit3_t 512")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data", help="cifar10.tar, for the part accuracy")
    parser.add_argument("--output", default=str(ROOT / "build/bench_vs_pytorch.json"))
    parser.add_argument("--add", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    options.parts = options.parts.split(",")
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    if options.rounds < 1 or options.repetitions < 1 or options.threads < 1:
        parser.error("--rounds, --repetitions and --threads are at least 1")
    if not pathlib.Path(options.ttt).is_file():
        parser.error(f"there is no program {options.ttt}; scripts/build.sh builds it")
    if options.data and not pathlib.Path(options.data).is_file():
        parser.error(f"there is no file {options.data}")
    if options.quick:
        options.rounds, options.repetitions = 1, 1
    return options


def describe(options):
    import timm
    import torch
    out = subprocess.run([options.ttt, "--version"], check=True, stdout=subprocess.PIPE, text=True)
    commit = next((line.split()[1] for line in out.stdout.splitlines()
                   if line.startswith("commit")), "unknown")
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        cpu = next((line.split(":")[1].strip() for line in file if line.startswith("model name")),
                   "unknown processor")
    return {"processor": cpu, "threads": options.threads, "ttt": out.stdout.splitlines()[0],
            "commit": commit, "pytorch": torch.__version__, "timm": timm.__version__,
            "rounds": options.rounds, "repetitions": options.repetitions}


def earlier_parts(options, about):
    """What --output holds, for --add."""
    path = pathlib.Path(options.output)
    if not options.add or not path.is_file():
        return {}
    earlier = json.loads(path.read_text(encoding="utf-8"))
    for key, value in about.items():
        if earlier["about"].get(key) != value:
            sys.exit(f"error: {path} was measured with {key} {earlier['about'].get(key)}, this is "
                     f"{value}\nhint: measure all parts again, or give another --output")
    return {part: earlier[part] for part in PARTS if part in earlier}


def main():
    options = parse_arguments()
    environment.enter()
    import logits
    import parts
    import report

    if set(options.parts) & {"forward", "training"}:
        logits.check(options, ["vit3_t", "hvit3_t"])
    about = describe(options)
    result = {"about": about, **earlier_parts(options, about)}
    for part in options.parts:
        print(f"measuring: {part}", file=sys.stderr, flush=True)
        rows = getattr(parts, part)(options)
        if part in ("forward", "training"):
            rows = parts.other_rows(result.get(part, []), options) + rows
        result[part] = rows
    output = pathlib.Path(options.output)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(report.table(result))
    if options.write:
        report.write_readme(ROOT / "README.md", result)
        if "linear" in result:
            report.write_plot(ROOT / "docs/cost-per-token.svg", result)
    short = report.shortfalls(result)
    for line in short:
        print(f"short: {line}", flush=True)
    return 1 if options.check and short else 0


if __name__ == "__main__":
    sys.exit(main())
