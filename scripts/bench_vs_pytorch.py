#!/usr/bin/env python3
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
"""Measures ttt against PyTorch (eager, torch.compile) and timm's DeiT, in turns.

usage: bench_vs_pytorch.py [TTT] [--parts forward,training,linear,memory,folder,accuracy,lact]
           [--only TEXT] [--rounds N] [--repetitions N] [--threads N] [--data cifar10.tar]
           [--output FILE] [--add] [--write] [--check] [--quick]
TTT is the program (default: build/release/apps/ttt). PyTorch's side is in pytorch_baseline/; that it
computes the same scores is checked first. --add keeps the other parts of FILE, and the rows that
--only leaves out, if they were measured with the same program on the same machine. FILE is written
after each part, so that an interrupted run can go on with --add. --write puts the table into
README.md and the plot into docs/; the part lact measures ttt alone, against the fastest matrix
product of the same minutes; --check exits with 1 where a ratio falls short, the last line naming it,
and says which parts were not measured; --quick is one short round, for a look at whether everything
runs.
"""
import argparse
import contextlib
import errno
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "pytorch_baseline"))
import environment  # noqa: E402
import parts  # noqa: E402  (like report, imports what environment installs only when it is used)
import report  # noqa: E402


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ttt", nargs="?", default=str(ROOT / "build/release/apps/ttt"))
    parser.add_argument("--parts", default=",".join(report.PARTS))
    parser.add_argument("--only", default="",
                        help="rows of forward and training whose name begins so: vit3_t 512")
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
    options.parts = list(dict.fromkeys(options.parts.split(",")))
    unknown = set(options.parts) - set(report.PARTS)
    if unknown:
        parser.error(f"no part {', '.join(map(repr, sorted(unknown)))}; there are "
                     f"{', '.join(report.PARTS)}")
    names = [parts.name_of(*shape[:3]) for shape in parts.SHAPES]
    if not any(name.startswith(options.only) for name in names):
        parser.error(f"no row's name begins with {options.only!r}; there are {', '.join(names)}")
    if options.rounds < 1 or options.repetitions < 1 or options.threads < 1:
        parser.error("--rounds, --repetitions and --threads are at least 1")
    if not pathlib.Path(options.ttt).is_file():
        parser.error(f"there is no program {options.ttt}; scripts/build.sh builds it")
    if not os.access(options.ttt, os.X_OK):
        parser.error(f"{options.ttt} is no program")
    if options.data and not pathlib.Path(options.data).is_file():
        parser.error(f"there is no file {options.data}")
    if options.quick:
        options.rounds, options.repetitions = 1, 1
    return options


def describe(options):
    import timm
    import torch
    out = subprocess.run([options.ttt, "--version"], check=True, stdout=subprocess.PIPE, text=True)
    lines = out.stdout.splitlines()
    commit = next((line.split()[1] for line in lines if line.startswith("commit ")), None)
    if commit is None:
        sys.exit(f"error: {options.ttt} is not ttt: its --version names no commit\n"
                 "hint: give the program that scripts/build.sh builds")
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        cpu = next((line.split(":")[1].strip() for line in file if line.startswith("model name")),
                   "unknown processor")
    return {"processor": cpu, "threads": options.threads, "ttt": lines[0],
            "commit": commit, "pytorch": torch.__version__, "timm": timm.__version__,
            "rounds": options.rounds, "repetitions": options.repetitions}


def earlier_parts(options, about):
    """What --output holds, for --add."""
    path = pathlib.Path(options.output)
    if not options.add or not path.is_file():
        return {}
    try:
        earlier = json.loads(path.read_text(encoding="utf-8"))
        earlier_about = dict(earlier["about"])
    except (OSError, ValueError, TypeError, KeyError):
        sys.exit(f"error: {path} is no result of this script\nhint: leave out --add, or give another "
                 "--output")
    for key, value in about.items():
        if earlier_about.get(key) != value:
            sys.exit(f"error: {path} was measured with {key} {earlier_about.get(key)}, this is "
                     f"{value}\nhint: measure all parts again, or give another --output")
    return {part: earlier[part] for part in report.PARTS if part in earlier}


@contextlib.contextmanager
def beside(path):
    """A name to write what becomes `path` at once; the program ends when it can't be written."""
    scratch = path.with_name(f"{path.name}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield scratch
    except OSError as problem:
        sys.exit(f"error: {path} can't be written: {problem.strerror}\nhint: give another --output")


def write_result(path, result):
    """As a whole or not at all: the earlier parts took an hour."""
    with beside(path) as scratch:
        scratch.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        scratch.replace(path)


def check_places(options):
    """Before the work: whether its results can be written."""
    with beside(pathlib.Path(options.output)) as scratch:
        if pathlib.Path(options.output).is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        scratch.touch()
        scratch.unlink()
    if options.write:
        report.check_readme(ROOT / "README.md")


def measure(options, result):
    for part in options.parts:
        print(f"measuring: {part}", file=sys.stderr, flush=True)
        rows = getattr(parts, part)(options)
        if part in ("forward", "training"):
            rows = parts.other_rows(result.get(part, []), options) + rows
        result[part] = rows
        write_result(pathlib.Path(options.output), result)


def conclude(options, result):
    """Prints what was found; the exit status."""
    print(report.table(result))
    if options.check:
        for part in report.unmeasured(result):
            print(f"not measured: {part}")
    short = report.shortfalls(result)
    for line in short:
        print(f"short: {line}", flush=True)
    return 1 if options.check and short else 0


def main():
    options = parse_arguments()
    check_places(options)
    environment.enter()
    import logits

    about = describe(options)
    result = {"about": about, **earlier_parts(options, about)}
    if set(options.parts) & {"forward", "training"}:
        logits.check(options, ["vit3_t", "hvit3_t"])
    measure(options, result)
    if options.write:
        report.write_readme(ROOT / "README.md", result)
        if "linear" in result:
            report.write_plot(ROOT / "docs/cost-per-token.svg", result)
    return conclude(options, result)


def run():
    """The exit status of main(); what a program that it calls can't do is one line."""
    try:
        return main()
    except subprocess.CalledProcessError as problem:
        command = " ".join(map(str, problem.cmd))
        sys.exit(f"error: exit status {problem.returncode} of {command}\nhint: run it by itself; what "
                 "it said is above")
    except OSError as problem:
        sys.exit(f"error: {problem}\nhint: check that this file is there and fits this machine")
    except KeyboardInterrupt:
        print("error: interrupted\nhint: --add goes on after the parts that are finished",
              file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(run())
