#!/usr/bin/env python3
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
"""Times reconstruction by `ttt render` for growing numbers of input views: what does a view cost?

usage: reconstruct_scaling.py TTT [--scene SCENE] [--views 4,8,16,32,64] [--threads N] [--dim N]
           [--layers N] [--size N] [--repeat N] [--write docs/render.md]
TTT is the program. SCENE is a posed scene with enough views; without it TTT makes one up. Weights
are random. A time is the best of the repetitions, which go through all numbers of views in turns.
The time of n views is fitted as F + n V: F is spent once a scene, whatever there is to see. --write
puts the table between its markers in that file.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

from compare_render_speed import CONFIG

BEGIN, END = "<!-- reconstruct_scaling: begin -->", "<!-- reconstruct_scaling: end -->"
DTYPES = ("fp32", "bf16")


def made_up_scene(options, folder):
    subprocess.run([options.ttt, "train", "--model", "lvsm", "--data", "procedural", "--quiet",
                    "--export-scenes", str(folder), "--validation-scenes", "1",
                    "--input-views", str(max(options.views)), "--target-views", "1",
                    "--size", str(options.size)], check=True)
    return str(folder / "scene_000")


def milliseconds(options, scene, folder, views, dtype):
    command = [options.ttt, "render", scene, "--random-weights",
               "--model-config", str(folder / "config.yaml"),
               "--size", f"{options.size}x{options.size}", "--threads", str(options.threads),
               "--dtype", dtype, "--format", "jsonl", "--quiet", "--overwrite",
               "--metrics", str(folder / "metrics.json"),
               "--input-views", f"0-{views - 1}", "--target-views", str(max(options.views))]
    out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(out.strip().splitlines()[-1])["scenes"][0]["reconstruct_ms"]


def measure(options):
    best = {(dtype, views): float("inf") for dtype in DTYPES for views in options.views}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "config.yaml").write_text(CONFIG.format(dim=options.dim, layers=options.layers))
        scene = options.scene or made_up_scene(options, folder / "scenes")
        for _ in range(options.repeat):
            for dtype, views in best:
                best[dtype, views] = min(best[dtype, views],
                                         milliseconds(options, scene, folder, views, dtype))
    return best


def fit(views, times):
    """F and V with the smallest relative errors of F + n V."""
    ones = [1 / t for t in times]
    counts = [n / t for n, t in zip(views, times)]
    a, b, c = (sum(x * y for x, y in zip(p, q))
               for p, q in ((ones, ones), (ones, counts), (counts, counts)))
    u, v = sum(ones), sum(counts)
    determinant = a * c - b * b
    return (u * c - v * b) / determinant, (a * v - b * u) / determinant


def table(options, best):
    lines = [f"Dim {options.dim}, {options.layers} layers, {options.size}×{options.size} views, "
             f"{options.threads} thread{'s' if options.threads > 1 else ''}:", "",
             "| input views |" + "".join(f" {d}, ms | ms a view | without F |" for d in DTYPES),
             "|---|" + "---|---|---|" * len(DTYPES)]
    fits = {d: fit(options.views, [best[d, n] for n in options.views]) for d in DTYPES}
    own = {d: [(best[d, n] - fits[d][0]) / n for n in options.views] for d in DTYPES}
    for i, n in enumerate(options.views):
        lines.append(f"| {n} |" + "".join(
            f" {best[d, n]:.0f} | {best[d, n] / n:.1f} | {own[d][i]:.1f} |" for d in DTYPES))
    lines.append("")
    lines += [f"{d}: F = {fits[d][0]:.0f} ms a scene and {fits[d][1]:.1f} ms a view; the time of a "
              f"view without F varies by {max(own[d]) / min(own[d]) - 1:.0%}." +
              ("  " if d != DTYPES[-1] else "") for d in DTYPES]
    return "\n".join(lines) + "\n"


def write(path, text):
    content = path.read_text()
    if content.count(BEGIN) != 1 or content.count(END) != 1:
        sys.exit(f"error: {path} has no place for the table\n"
                 f"hint: add the lines {BEGIN} and {END}")
    head, tail = content.split(BEGIN)[0], content.split(END)[1]
    path.write_text(f"{head}{BEGIN}\n{text}{END}{tail}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ttt")
    parser.add_argument("--scene")
    parser.add_argument("--views", default="4,8,16,32,64")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--write", type=pathlib.Path)
    options = parser.parse_args()
    options.views = [int(n) for n in options.views.split(",")]
    if len(set(options.views)) < 2:
        parser.error("--views needs two numbers")
    text = table(options, measure(options))
    print(text, end="")
    if options.write:
        write(options.write, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
