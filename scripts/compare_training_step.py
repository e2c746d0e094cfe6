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
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional as F


class Inner(nn.Module):
    """The TTT block, written with the operations that eager PyTorch offers."""

    def __init__(self, dim, heads):
        super().__init__()
        d = dim // heads
        self.dim, self.heads, self.d = dim, heads, d
        self.w1 = nn.Parameter(0.02 * torch.randn(1, heads, d, d))
        self.w2 = nn.Parameter(0.02 * torch.randn(1, heads, d, d))
        self.w3 = nn.Parameter(0.02 * torch.randn(d, 1, 3, 3))
        self.qkv = nn.Linear(dim, 3 * dim + 3 * d)
        self.proj = nn.Linear(dim + d, dim)

    def gated(self, q, k, v):
        z1, z2 = k @ self.w1, k @ self.w2
        s = torch.sigmoid(z2)
        e = -v / v.shape[2] / 3
        kt = k.transpose(-2, -1)
        g1 = kt @ (e * z2 * s)
        g2 = kt @ (e * z1 * s * (1 + z2 * (1 - s)))
        w1 = self.w1 - g1 / (g1.norm(dim=-2, keepdim=True) + 1)
        w2 = self.w2 - g2 / (g2.norm(dim=-2, keepdim=True) + 1)
        return (q @ w1) * F.silu(q @ w2)

    def depthwise(self, q, k, v):
        b, c, h, w = k.shape
        e, padded = -v / (h * w) / 3, F.pad(k, (1, 1, 1, 1))
        taps = [(padded[:, :, i:i + h, j:j + w] * e).sum((2, 3))
                for i in range(3) for j in range(3)]
        g = torch.stack(taps, -1).view(b, c, 3, 3)
        g = g / (g.flatten(2).norm(dim=-1)[..., None, None] + 1)
        kernels = (self.w3[:, 0] - g).view(b * c, 1, 3, 3)
        out = F.conv2d(q.reshape(1, b * c, h, w), kernels, padding=1, groups=b * c)
        return out.view(b, c, h * w).transpose(1, 2)

    def forward(self, x, h, w):
        b, n, _ = x.shape
        sizes = [self.dim] * 3 + [self.d] * 3
        q1, k1, v1, q2, k2, v2 = self.qkv(x).split(sizes, 2)
        heads = [t.view(b, n, self.heads, self.d).transpose(1, 2) for t in (q1, k1, v1)]
        maps = [t.transpose(1, 2).reshape(b, self.d, h, w) for t in (q2, k2, v2)]
        x1 = self.gated(*heads).transpose(1, 2).reshape(b, n, self.dim)
        return self.proj(torch.cat([x1, self.depthwise(*maps)], 2))


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.cpe = nn.Conv2d(dim, dim, 3, padding=1, groups=dim)
        self.norm1, self.norm2 = nn.LayerNorm(dim, 1e-6), nn.LayerNorm(dim, 1e-6)
        self.attn = Inner(dim, heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x, h, w):
        b, n, c = x.shape
        x = x + self.cpe(x.transpose(1, 2).reshape(b, c, h, w)).flatten(2).transpose(1, 2)
        x = x + self.attn(self.norm1(x), h, w)
        return x + self.mlp(self.norm2(x))


class Vit3(nn.Module):
    def __init__(self, dim, depth, heads, patch, classes):
        super().__init__()
        self.patch = nn.Conv2d(3, dim, patch, patch)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(dim, 1e-6), nn.Linear(dim, classes)

    def forward(self, images):
        x = self.patch(images)
        h, w = x.shape[2:]
        x = x.flatten(2).transpose(1, 2)
        for block in self.blocks:
            x = block(x, h, w)
        return self.head(self.norm(x).mean(1))


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
