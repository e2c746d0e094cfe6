# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
"""What is timed: `ttt bench`, a process a call, and PyTorch, a process that stays."""
import json
import pathlib
import statistics
import subprocess
import sys


class Ttt:
    """`ttt bench` of one model."""

    def __init__(self, options, model, size, batch, dtype, training=False):
        self.command = [options.ttt, "bench", "--model", model, "--size", str(size), "--batch",
                        str(batch), "--dtype", dtype, "--threads", str(options.threads), "--pass",
                        "training" if training else "forward", "--format", "jsonl", "--quiet"]
        self.seconds, self.shares, self.rooflines = [], [], []

    def run(self, *more):
        out = subprocess.run([*self.command, *more], check=True, stdout=subprocess.PIPE, text=True)
        return json.loads(out.stdout.splitlines()[0])

    def measure(self, repetitions):
        row = self.run("--repetitions", str(repetitions), "--warm-up", "2")
        self.seconds.append(row["time_ms"] / 1000)
        self.shares.append(row["roofline_share"] or 0)
        self.rooflines.append(row["roofline_gflops"] or 0)

    def memory(self):
        return self.run("--repetitions", "1", "--warm-up", "1")["memory_mib"]

    def close(self):
        pass


class Torch:
    """worker.py with one job."""

    def __init__(self, options, model, size, batch, dtype, compiled=False, training=False):
        job = {"model": model, "size": size, "batch": batch, "dtype": dtype, "compiled": compiled,
               "training": training, "threads": options.threads}
        worker = pathlib.Path(__file__).with_name("worker.py")
        self.process = subprocess.Popen([sys.executable, str(worker), json.dumps(job)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.seconds = []

    def ask(self, question):
        try:
            self.process.stdin.write(f"{question}\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            sys.exit("error: a PyTorch process ended before its answer\nhint: what it said is above; "
                     "without a word it had too little memory")
        return json.loads(answer)

    def measure(self, repetitions):
        self.seconds.append(statistics.median(self.ask(repetitions)))

    def memory(self):
        return self.ask("memory")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def in_turns(contenders, options):
    """Rounds in which each is measured once, so that all see the same machine; closes them."""
    try:
        for _ in range(options.rounds):
            for contender in contenders.values():
                contender.measure(options.repetitions)
    finally:
        for contender in contenders.values():
            contender.close()
    return {name: statistics.median(contender.seconds) for name, contender in contenders.items()}
