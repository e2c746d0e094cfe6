#!/usr/bin/env python3
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
"""Times one training step of a ViT3 in eager PyTorch and in `ttt train`, in turns.

usage: compare_training_step.py TTT DATA [--threads N] [--dim N] [--depth N] [--batch N] [--steps N]
TTT is the program, DATA pictures with at least three classes (such as cifar10.tar). Prints a table:
median milliseconds a step, forward, backward and AdamW, for fp32 and bf16 autocast.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "pytorch_baseline"))
from models import Vit3  # noqa: E402


def time_pytorch(options, dtype):
    torch.manual_seed(0)
    model = Vit3(options.dim, options.depth, options.dim // 32, 4, 10)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, weight_decay=0.05)
    images, labels = torch.randn(options.batch, 3, 32, 32), torch.randint(10, (options.batch,))
    times = []
    for _ in range(options.steps):
        start = time.perf_counter()
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bf16"):
            loss = F.cross_entropy(model(images).float(), labels, label_smoothing=0.1)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        times.append(time.perf_counter() - start)
    return times


def time_ttt(options, dtype):
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "run"
        command = [options.ttt, "train", "--data", options.data, "--output", run, "--size", "32",
                   "--dims", options.dim, "--depths", options.depth, "--heads", options.dim // 32,
                   "--patch", 4, "--crop", "pad", "--rand-augment", 0, "--erase", 0, "--mixup", 0,
                   "--cutmix", 0, "--batch", options.batch, "--dtype", dtype, "--max-steps",
                   options.steps, "--log-steps", 1, "--threads", options.threads, "--quiet"]
        subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
        rows = [json.loads(line) for line in (run / "log.jsonl").open()]
        return [row["seconds_per_step"] for row in rows if row["kind"] == "step"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ttt")
    parser.add_argument("data")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dim", type=int, default=192)
    parser.add_argument("--depth", type=int, default=6)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"dim {options.dim}, depth {options.depth}, patch 4, 32x32, batch {options.batch},"
          f" {options.threads} threads, PyTorch {torch.__version__}")
    print("| type | eager PyTorch, ms | ttt, ms | ratio |\n|---|---|---|---|")
    for dtype in ("fp32", "bf16"):
        theirs, ours = [], []
        for _ in range(options.rounds):  # in turns, so that both see the same machine
            theirs += time_pytorch(options, dtype)[2:]
            ours += time_ttt(options, dtype)[2:]
        a, b = (1000 * statistics.median(times) for times in (theirs, ours))
        print(f"| {dtype} | {a:.0f} | {b:.0f} | {a / b:.2f} |")


if __name__ == "__main__":
    main()
