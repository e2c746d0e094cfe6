# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
"""What the result of the comparison says: table, plot, and where it falls short of the goals."""
import sys

BEGIN, END = "<!-- bench_vs_pytorch: begin -->", "<!-- bench_vs_pytorch: end -->"

# ttt's rate is at least this many times the other's, or reaches this part of the roofline.
FORWARD_GOALS = (("fp32", "pytorch compiled fp32", 1.15), ("fp32", "pytorch eager fp32", 1.6),
                 ("bf16", "pytorch compiled bf16", 1.2), ("bf16", "pytorch eager fp32", 3.0))
ROOFLINE_GOALS = {"fp32": 0.80, "bf16": 0.65}
TRAINING_GOALS = {"fp32": 1.3, "bf16": 1.4}
COST_GOAL = 1.15  # cost of a token at 2048 against 512
MEMORY_GOAL = 0.5
FOLDER_GOALS = {"vit3_s fp32": 0.92, "vit3_t bf16": 0.85}
ACCURACY_GOAL = 0.001
LACT_GOALS = {"fp32": 0.85, "bf16": 0.75}  # of the roofline


# What a comparison of all of them has; --check says what it could not look at.
PARTS = ("forward", "training", "linear", "memory", "folder", "accuracy", "lact")


def name_of(row):
    return f"{row['model']} {row['size']}² b{row['batch']}"


def number(value):
    """NaN where something was not measured: no comparison holds for it, so no goal is met."""
    return value if isinstance(value, (int, float)) else float("nan")


def forward_shortfalls(row):
    rates = row["images_per_s"]
    for dtype, other, goal in FORWARD_GOALS:
        ratio = number(rates[f"ttt {dtype}"]) / number(rates[other])
        share = number(row["roofline_share"][dtype])
        if not (ratio >= goal or share >= ROOFLINE_GOALS[dtype]):
            yield (f"{name_of(row)} {dtype}: {ratio:.2f} times {other}, goal {goal}, and "
                   f"{share:.0%} of the roofline, goal {ROOFLINE_GOALS[dtype]:.0%}")
    for dtype in ("fp32", "bf16"):
        for mode in ("eager", "compiled"):
            ratio = number(rates[f"ttt {dtype}"]) / number(rates[f"deit {mode} {dtype}"])
            if not ratio > 1:
                yield f"{name_of(row)} {dtype}: {ratio:.2f} times {row['deit']} {mode}, goal 1"


def training_shortfalls(row):
    dtype, seconds, memory = row["dtype"], row["seconds"], row["memory_mib"]
    ratio = number(seconds["pytorch"]) / number(seconds["ttt"])
    if not ratio >= TRAINING_GOALS[dtype]:
        yield (f"{name_of(row)} training {dtype}: {ratio:.2f} times eager PyTorch, "
               f"goal {TRAINING_GOALS[dtype]}")
    ours, theirs = number(memory["ttt"]), number(memory["pytorch"])
    if not ours <= theirs:
        yield (f"{name_of(row)} training {dtype}: {ours:.0f} MiB, eager PyTorch {theirs:.0f}")


def cost_ratio(rows):
    """Cost of a token at the largest size against 512."""
    cost = {row["size"]: number(row["seconds"]["ttt"]) / row["tokens"] for row in rows}
    return cost[2048] / cost[512]


def linear_shortfalls(rows):
    if not cost_ratio(rows) <= COST_GOAL:
        yield (f"cost of a token at 2048² is {cost_ratio(rows):.2f} times that at 512², "
               f"goal {COST_GOAL}")
    for row in rows:
        ratio = number(row["seconds"]["deit"]) / number(row["seconds"]["ttt"])
        if not ratio > 1:
            yield f"vit3_t {row['size']}² b1 bf16: {ratio:.2f} times DeiT-T eager, goal 1"


def memory_shortfalls(memory):
    for dtype in ("fp32", "bf16"):
        share = number(memory[dtype]["ttt"]) / number(memory[dtype]["pytorch"])
        if not share <= MEMORY_GOAL:
            yield f"memory at 2048² {dtype}: {share:.2f} of eager PyTorch's, goal {MEMORY_GOAL}"


def folder_shortfalls(folder):
    for name, goal in FOLDER_GOALS.items():
        share = number(folder[name]["images_per_s"]) / number(folder[name]["bare_images_per_s"])
        if not share >= goal:
            yield f"folder, {name}: {share:.0%} of the bare model, goal {goal:.0%}"


def accuracy_shortfalls(accuracy):
    for name, top1 in accuracy.items():
        fp32, bf16 = number(top1["fp32"]), number(top1["bf16"])
        if not abs(bf16 - fp32) <= ACCURACY_GOAL + 1e-9:
            yield f"{name}: top-1 {fp32:.4f} in fp32, {bf16:.4f} in bf16"


def lact_shortfalls(row):
    share, goal = number(row["roofline_share"]), LACT_GOALS[row["dtype"]]
    if not share >= goal:
        yield (f"LaCT, {row['call']} at {row['dim']} {row['dtype']}: {share:.0%} of the roofline, "
               f"goal {goal:.0%}")


def shortfalls(result):
    """A line for every goal that a result doesn't reach, of the parts that it has."""
    short = []
    for row in result.get("forward", []):
        short += forward_shortfalls(row)
    for row in result.get("training", []):
        short += training_shortfalls(row)
    if "linear" in result:
        short += linear_shortfalls(result["linear"])
    if "memory" in result:
        short += memory_shortfalls(result["memory"])
    if "folder" in result:
        short += folder_shortfalls(result["folder"])
    short += accuracy_shortfalls(result.get("accuracy", {}))
    for row in result.get("lact", []):
        short += lact_shortfalls(row)
    return short


def unmeasured(result):
    """The parts whose goals nothing is known about."""
    return [part for part in PARTS if not result.get(part)]


def forward_table(rows):
    lines = ["Pictures a second:", "",
             "| model, pictures | type | ttt | of roofline | PyTorch eager | compiled | DeiT eager "
             "| compiled |", "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        rates = row["images_per_s"]
        for dtype in ("fp32", "bf16"):
            ours = rates[f"ttt {dtype}"]
            cells = []
            for other in ("pytorch eager", "pytorch compiled", "deit eager", "deit compiled"):
                rate = rates[f"{other} {dtype}"]
                cells.append(f"{rate:.3g} ({ours / rate:.2f}x)")
            lines.append(f"| {name_of(row)} | {dtype} | {ours:.3g} | "
                         f"{row['roofline_share'][dtype]:.0%} | {' | '.join(cells)} |")
    return lines


def training_table(rows):
    lines = ["A training step (forward, backward, clipping, AdamW; bf16 is autocast):", "",
             "| model, pictures | type | ttt | PyTorch eager | peak memory, ttt | PyTorch eager |",
             "|---|---|---|---|---|---|"]
    for row in rows:
        seconds, memory = row["seconds"], row["memory_mib"]
        lines.append(f"| {name_of(row)} | {row['dtype']} | {seconds['ttt']:.3g} s | "
                     f"{seconds['pytorch']:.3g} s ({seconds['pytorch'] / seconds['ttt']:.2f}x) | "
                     f"{number(memory['ttt']):.0f} MiB | {number(memory['pytorch']):.0f} MiB |")
    return lines


def lact_table(rows):
    dims = sorted({row["dim"] for row in rows})
    lines = ["LaCT's fast weights, one head, 2048 tokens, hidden width twice the width: GFLOP/s and "
             "the part of the fastest matrix product of the same minutes (of Newton-Schulz's "
             "symmetric products half is counted):", "",
             f"| operation | type | {' | '.join(f'width {dim}' for dim in dims)} |",
             "|---|---|" + "---|" * len(dims)]
    for call, dtype in dict.fromkeys((row["call"], row["dtype"]) for row in rows):
        cells = {row["dim"]: f"{row['gflops']:.0f} ({row['roofline_share']:.0%})" for row in rows
                 if (row["call"], row["dtype"]) == (call, dtype)}
        lines.append(f"| {call} | {dtype} | {' | '.join(cells[dim] for dim in dims)} |")
    return lines


def other_table(result):
    lines = []
    if "linear" in result:
        lines.append("| cost of a token at 2048² against 512², ViT3-T, bf16 | "
                     f"{cost_ratio(result['linear']):.2f} times |")
    for dtype in ("fp32", "bf16"):
        if "memory" in result:
            one = result["memory"][dtype]
            lines.append(f"| peak memory at 2048², ViT3-T, {dtype} | {number(one['ttt']):.0f} MiB, "
                         f"eager PyTorch {number(one['pytorch']):.0f} MiB |")
    for name in FOLDER_GOALS:
        if "folder" in result:
            one = result["folder"][name]
            share = one["images_per_s"] / one["bare_images_per_s"]
            lines.append(f"| {result['folder']['pictures']} JPEGs of 500×400, decoding included, "
                         f"{name} | {one['images_per_s']:.3g} pictures/s, {share:.0%} of the bare "
                         "model |")
    for name, top1 in result.get("accuracy", {}).items():
        lines.append(f"| CIFAR-10 top-1, {name} | {top1['fp32']:.2%} in fp32, "
                     f"{top1['bf16']:.2%} in bf16 |")
    return ["| what | result |", "|---|---|", *lines] if lines else []


def table(result):
    about = result["about"]
    parts = []
    if result.get("forward"):
        parts.append(forward_table(result["forward"]))
    if result.get("training"):
        parts.append(training_table(result["training"]))
    if result.get("lact"):
        parts.append(lact_table(result["lact"]))
    if other_table(result):
        parts.append(other_table(result))
    parts.append([f"Machine: {about['processor']}, {about['threads']} threads. {about['ttt']}, "
                  f"commit {about['commit']}; PyTorch {about['pytorch']}, timm {about['timm']}; "
                  f"medians of {about['rounds']} rounds in turns. Memory is the peak above the "
                  "loaded model."])
    if "linear" in result:
        parts.append(["![cost of a token over the size of the picture](docs/cost-per-token.svg)"])
    return "\n\n".join("\n".join(part) for part in parts)


def check_readme(path):
    """Its text; the program ends when that has no place for the table."""
    text = path.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        sys.exit(f"error: {path.name} has no place for the table\nhint: add the lines {BEGIN} and "
                 f"{END}")
    return text


def write_readme(path, result):
    text = check_readme(path)
    head, tail = text[:text.index(BEGIN) + len(BEGIN)], text[text.index(END):]
    path.write_text(f"{head}\n{table(result)}\n{tail}", encoding="utf-8")


def write_plot(path, result):
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "ttt"  # the same file for the same numbers
    from matplotlib import pyplot
    rows = result["linear"]
    figure, axes = pyplot.subplots(figsize=(6, 3.6), layout="constrained")
    for key, label in (("ttt", "ViT3-T, ttt"), ("deit", "DeiT-T, PyTorch")):
        axes.plot([row["size"] for row in rows],
                  [1e6 * row["seconds"][key] / row["tokens"] for row in rows], "o-", label=label)
    axes.set(xscale="log", yscale="log", xlabel="side of the picture, pixels",
             ylabel="time a token, µs", title="bf16, batch 1")
    axes.set_xticks([row["size"] for row in rows], [str(row["size"]) for row in rows])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, metadata={"Date": None})
