# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
"""One way of running one model in PyTorch, as a process that times passes when it is asked to.

usage: worker.py '{"model": "vit3_t", "size": 224, "batch": 8, "dtype": "fp32", "compiled": false,
                   "training": false, "threads": 2}'
Each line on standard input asks for one thing, and one line of JSON answers it: a number for the
seconds of so many passes, "memory" for the MiB that a pass takes above the loaded model.
"""
import json
import sys
import time
import warnings

import torch
from torch import nn
from torch.nn import functional as F

from models import build

TYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


def forward_pass(job):
    dtype = TYPES[job["dtype"]]
    model = build(job["model"], job["size"]).eval().to(dtype)
    images = torch.randn(job["batch"], 3, job["size"], job["size"])
    if job["compiled"]:
        model = torch.compile(model)

    def run():
        with torch.inference_mode():
            model(images.to(dtype)).float()  # as ttt does: pictures and logits are fp32
    return run


def training_step(job):
    model = build(job["model"], job["size"]).train()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, weight_decay=0.05)
    images = torch.randn(job["batch"], 3, job["size"], job["size"])
    targets = torch.arange(job["batch"]) % 1000
    forward = torch.compile(model) if job["compiled"] else model

    def run():
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=job["dtype"] == "bf16"):
            logits = forward(images)
        F.cross_entropy(logits.float(), targets).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
    return run


def resident(field):
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith(field))


def memory_of(run):
    """The peak of two passes above what is held before the first, in MiB."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
    start = resident("VmRSS")
    run()
    run()
    return resident("VmHWM") - start


def timed(run):
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main():
    warnings.filterwarnings("ignore")
    job = json.loads(sys.argv[1])
    torch.manual_seed(0)
    torch.set_num_threads(job["threads"])
    run = (training_step if job["training"] else forward_pass)(job)
    warm = False
    for line in sys.stdin:
        if line.strip() == "memory":
            print(json.dumps(memory_of(run)), flush=True)
            continue
        if not warm:  # compiles
            run()
            run()
            warm = True
        print(json.dumps([timed(run) for _ in range(int(line))]), flush=True)


if __name__ == "__main__":
    main()
