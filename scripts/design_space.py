#!/usr/bin/env python3
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
"""The grid of scripts/design_space.sh and its report.

usage: design_space.py runs [--only AXIS]     one line a run: its folder, seed, settings
       design_space.py report RUNS [MARKDOWN]  rewrites the table in docs/design-space.md and the
                                               plot beside it from the finished runs
"""
import html
import json
import pathlib
import statistics
import sys

SEEDS = (1, 2)
BASE = {"model": "gated_linear", "width": 1, "loss": "dot", "batch": "full", "epochs": 1,
        "lr": 1.0, "lr_rule": "fixed", "clip": "column"}

# Axis: what it varies, and (name of the value, settings other than the base point's). The ends of an
# axis, its first and last value, are trained with both seeds, the values between with the first.
AXES = {
    "loss": ("inner loss", [(v, {"loss": v}) for v in ("dot", "mse", "rmse", "smooth_l1", "mae")]),
    "batch": ("inner batch", [(v, {"batch": v}) for v in ("full", "N/2", "N/3", "N/4")]),
    "epochs": ("inner epochs", [(str(v), {"epochs": v}) for v in (1, 2, 3)]),
    "lr": ("inner learning rate", [(f"{v:g}", {"lr": v}) for v in (0.1, 0.3, 1.0, 3.0, 10.0)]),
    "rule": ("learning rate per token", [(v, {"lr_rule": v}) for v in ("fixed", "dynamic")]),
    "clip": ("gradient clip", [(v, {"clip": v}) for v in ("column", "none")]),
    "width": ("hidden width of mlp2", [(f"{v}d", {"model": "mlp2", "width": v})
                                       for v in (1, 2, 3, 4)]),
    "depth": ("layers", [("1: linear", {"model": "linear"}), ("2: mlp2", {"model": "mlp2"}),
                         ("3: mlp3", {"model": "mlp3"})]),
    "fc": ("linear with SiLU behind it", [(v, {"model": v}) for v in ("linear", "silu_linear")]),
    "glu": ("SwiGLU without its output layer", [(v, {"model": v})
                                                for v in ("swiglu", "gated_linear")]),
    "convolution": ("convolution", [(v, {"model": v}) for v in ("linear", "depthwise", "conv")]),
    "combination": ("combination", [(v, {"model": v})
                                    for v in ("depthwise", "gated_linear", "vit3")]),
}
HEAD = """\
# The inner-loop design space, measured small

Every TTT block trains an inner model on the tokens of one picture ([training.md](training.md), "What a
block trains"). Which model, by which loss, in how many steps: `scripts/design_space.sh` trains the same
small classifier at many points of that space, one axis at a time, and writes this table and plot.

| | |
|---|---|
| classifier | `scripts/design_space.yaml`: dim 64, 3 blocks, 2 heads of 32 channels, 8×8 tokens |
| data | CIFAR-10, 50,000 training and 10,000 test pictures; random crops and mirror images |
| budget of a run | one epoch: 781 steps of 64 pictures, AdamW, the same for every point |
| base point | gated linear model, dot loss, full batch, one epoch, learning rate 1, column clip |
| seeds | 1 and 2 (initial weights, order, augmentation) for the ends of every axis, 1 between |

Training loss: mean over the last tenth of the steps. ±: half the distance between the seeds. Images per CPU
second: training pictures by the user time of a whole run on one thread, evaluation included, of the faster
seed; on a core of its own that is images per second. Differences of a tenth mean nothing.
"""
BEGIN, END = "<!-- table: written by scripts/design_space.py -->", "<!-- end of the table -->"


def point(changes):
    """Name of a point: the settings that differ from the base point, in a folder's name."""
    parts = [f"{key}-{value}".replace("/", "over") for key, value in changes.items()
             if BASE[key] != value]
    return "_".join(parts) or "base"


def list_runs(only):
    """Axis by axis: all values with the first seed, then the ends with the second."""
    seen = set()
    for axis, (_, values) in AXES.items():
        if only and axis != only:
            continue
        for seed in SEEDS:
            for _, changes in values if seed == SEEDS[0] else (values[0], values[-1]):
                name = f"{point(changes)}/seed-{seed}"
                if name not in seen:
                    seen.add(name)
                    settings = [f"inner.{key}={value}" for key, value in changes.items()]
                    print("\t".join([name, str(seed), *settings]))


def cpu_seconds(file):
    """Of all parts of a run; the shell also writes there what ended a part, and its time."""
    lines = file.read_text().splitlines() if file.exists() else []
    return sum(float(line) for line in lines if line.replace(".", "", 1).isdigit())


def read_run(folder):
    """Loss, accuracy and rate of a finished run, else None."""
    record = folder / "train.run.json"
    if not record.exists() or json.loads(record.read_text()).get("status") != "complete":
        return None
    rows = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    steps = [row for row in rows if row["kind"] == "step"]
    scores = [row for row in rows if row["kind"] == "evaluation"]
    last = steps[-1]["step"]
    pictures = last * json.loads(record.read_text())["options"]["batch"]["value"]
    seconds = cpu_seconds(folder / "cpu_seconds")
    return {"loss": statistics.mean(r["loss"] for r in steps if r["step"] > 0.9 * last),
            "accuracy": 100 * scores[-1]["top1"],
            "rate": pictures / seconds if seconds else 0,
            "skipped": steps[-1]["skipped_steps"]}


def collect(runs):
    """Axis -> list of (value, finished runs); an axis without all of its runs is left out."""
    result = {}
    for axis, (_, values) in AXES.items():
        rows = [(value, [run for seed in SEEDS
                         if (run := read_run(runs / point(changes) / f"seed-{seed}"))])
                for value, changes in values]
        ends = (rows[0][1], rows[-1][1])
        if all(found for _, found in rows) and all(len(found) == len(SEEDS) for found in ends):
            result[axis] = rows
    return result


def mean_and_spread(values, form):
    text = form.format(statistics.mean(values))
    if len(values) < 2:
        return text + " (one seed)"
    return text + " ± " + form.format((max(values) - min(values)) / 2)


def table(results):
    lines = ["| axis | value | training loss | test accuracy, % | seeds | images per CPU second |",
             "|---|---|---|---|---|---|"]
    for axis, rows in results.items():
        for i, (value, found) in enumerate(rows):
            skipped = sum(run["skipped"] for run in found)
            lines.append("| {} | {} | {} | {} | {} | {:.0f} |".format(
                AXES[axis][0] if i == 0 else "", value,
                mean_and_spread([r["loss"] for r in found], "{:.3f}"),
                mean_and_spread([r["accuracy"] for r in found], "{:.2f}")
                + (f", {skipped} steps skipped" if skipped else ""),
                len(found), max(r["rate"] for r in found)))
    missing = [AXES[axis][0] for axis in AXES if axis not in results]
    if missing:
        lines += ["", "Axes that have not been run to the end: " + ", ".join(missing) + "."]
    return "\n".join(lines)


PANEL_WIDTH, PANEL_HEIGHT, MARGIN = 460, 210, 50


def panel(axis, rows, low, high):
    """One axis: a dot a run, a line through the means."""
    left, right, top, bottom = MARGIN, PANEL_WIDTH - 15, 30, PANEL_HEIGHT - 35

    def x(i):
        return left + (i + 0.5) * (right - left) / len(rows)

    def y(value):
        return bottom - (value - low) / (high - low) * (bottom - top)

    parts = [f'<text x="{left}" y="18" font-weight="bold">{html.escape(AXES[axis][0])}</text>']
    for tick in range(5):
        value = low + (high - low) * tick / 4
        parts.append(f'<line x1="{left}" x2="{right}" y1="{y(value):.1f}" y2="{y(value):.1f}" '
                     f'stroke="#ddd"/><text x="{left - 6}" y="{y(value) + 4:.1f}" '
                     f'text-anchor="end">{value:.1f}</text>')
    means = [(x(i), y(statistics.mean(r["accuracy"] for r in found)))
             for i, (_, found) in enumerate(rows)]
    path = " ".join(f"{px:.1f},{py:.1f}" for px, py in means)
    parts.append(f'<polyline points="{path}" fill="none" stroke="#2468b0" stroke-width="1.5"/>')
    for i, (value, found) in enumerate(rows):
        parts += [f'<circle cx="{x(i):.1f}" cy="{y(run["accuracy"]):.1f}" r="3.5" fill="#d2691e"/>'
                  for run in found]
        parts.append(f'<text x="{x(i):.1f}" y="{bottom + 18}" text-anchor="middle">'
                     f'{html.escape(value)}</text>')
    return "".join(parts)


def plot(results):
    """All panels share their scale, so that a small effect looks small."""
    scores = [run["accuracy"] for rows in results.values() for _, found in rows for run in found]
    low, high = min(scores), max(scores)
    pad = 0.05 * (high - low) or 1.0
    columns = 2
    height = (len(results) + 1) // columns * PANEL_HEIGHT + 24
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{columns * PANEL_WIDTH}" '
             f'height="{height}" font-family="sans-serif" font-size="11">'
             f'<rect width="100%" height="100%" fill="white"/>'
             '<text x="50" y="16">CIFAR-10 test accuracy in %: a dot for each seed, '
             'the line joins the means</text>']
    for i, (axis, rows) in enumerate(results.items()):
        parts.append(f'<g transform="translate({i % columns * PANEL_WIDTH},'
                     f'{i // columns * PANEL_HEIGHT + 24})">'
                     + panel(axis, rows, low - pad, high + pad) + "</g>")
    return "\n".join(parts) + "\n</svg>\n"


def report(runs, document):
    """Rewrites what lies between the marks; a document that doesn't exist yet starts with HEAD."""
    results = collect(runs)
    if not results:
        sys.exit(f"error: no axis is complete in {runs}\nhint: let scripts/design_space.sh run on")
    text = document.read_text() if document.exists() else f"{HEAD}\n{BEGIN}\n{END}\n"
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    plot_file = document.with_suffix(".svg")
    document.write_text(f"{head}{BEGIN}\n{table(results)}\n\n"
                        f"![Test accuracy along every axis]({plot_file.name})\n{END}{tail}")
    plot_file.write_text(plot(results))
    print(f"{document}: {len(results)} of {len(AXES)} axes", file=sys.stderr)


def main(arguments):
    if arguments[:1] == ["runs"] and len(arguments) in (1, 3):
        only = arguments[2] if arguments[1:2] == ["--only"] else None
        if len(arguments) == 3 and only not in AXES:
            sys.exit(f"error: unknown axis (--only)\nhint: use one of {', '.join(AXES)}")
        list_runs(only)
    elif arguments[:1] == ["report"] and len(arguments) in (2, 3):
        default = pathlib.Path(__file__).parent.parent / "docs" / "design-space.md"
        report(pathlib.Path(arguments[1]),
               pathlib.Path(arguments[2]) if len(arguments) == 3 else default)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
