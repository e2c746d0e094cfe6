# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
"""What the scripts say when they are called wrongly, or when what they need is missing."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[3] / "scripts"


class ScriptErrors(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.ttt = self.program("ttt", "exit 0")

    def program(self, name, script):
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    def run_script(self, name, *arguments, **environment):
        command = [SCRIPTS / name, *map(str, arguments)]
        if name.endswith(".py"):
            command.insert(0, sys.executable)
        return subprocess.run(command, cwd=self.folder, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                              env={**os.environ, "XDG_CACHE_HOME": str(self.folder),
                                   **environment})

    def expect(self, result, status, *texts):
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertNotIn("Traceback", result.stderr)
        for text in texts:
            self.assertIn(text, result.stderr)

    def test_bench_vs_pytorch_arguments(self):
        def refused(text, *arguments):
            self.expect(self.run_script("bench_vs_pytorch.py", *arguments), 2, text)
        refused("there is no program", self.folder / "none")
        refused("is no program", self.plain_file())
        refused("no part 'speed'; there are forward", self.ttt, "--parts", "memory,speed")
        refused("no part ''", self.ttt, "--parts", "")
        refused("'vit4'; there are vit3_t 224 b8", self.ttt, "--only", "vit4")
        refused("at least 1", self.ttt, "--rounds", "0")
        refused("invalid int", self.ttt, "--threads", "two")
        refused("there is no file", self.ttt, "--data", "none.tar")

    def plain_file(self):
        path = self.folder / "plain"
        path.write_text("x", encoding="utf-8")
        return path

    def test_bench_vs_pytorch_looks_where_it_will_write_first(self):
        for output in (self.folder, self.plain_file() / "result.json", "/proc/none/result.json"):
            self.expect(self.run_script("bench_vs_pytorch.py", self.ttt, "--output", output), 1,
                        f"error: {output} can't be written", "hint: ")

    def test_bench_vs_pytorch_without_the_torch_of_the_setup(self):
        result = self.run_script("bench_vs_pytorch.py", self.ttt, "--output", "result.json")
        self.expect(result, 1, "no torch of the setup", "scripts/setup.sh")

    def test_profile_model(self):
        perf_and_python = {"PATH": f"{self.folder}:{os.environ['PATH']}"}
        self.expect(self.run_script("profile_model.py", "--program", "none"), 2, "no program none")
        self.expect(self.run_script("profile_model.py", "--program", self.ttt, PATH="/none"), 2,
                    "perf was not found", "linux-perf")
        self.program("perf", "echo 'error: no such model (--model)' >&2; exit 2")
        self.expect(self.run_script("profile_model.py", "--program", self.ttt, **perf_and_python), 1,
                    "exit status 2", "no such model", "hint: ")
        row = json.dumps({"images_per_s": 1, "gflops": 1, "roofline_share": 1, "min_ms": 1})
        self.program("perf", f"[ $1 = report ] || echo '{row}'")
        self.expect(self.run_script("profile_model.py", "--program", self.ttt, **perf_and_python), 1,
                    "ended within", "--repetitions")

    def test_gpu_check_without_a_gpu(self):
        for said in ("exit 9", "echo 'NVIDIA-SMI has failed: no driver'; exit 9", "exit 0"):
            self.program("nvidia-smi", said)
            result = self.run_script("gpu_check.sh", PATH=f"{self.folder}:{os.environ['PATH']}")
            self.expect(result, 7, "no GPU", "hint: ")

    def test_gpu_check_arguments(self):
        self.expect(self.run_script("gpu_check.sh", "--help"), 2, "no option --help", "OUT.json")
        self.expect(self.run_script("gpu_check.sh", "a.json", "b.json"), 2, "2 names")
        self.expect(self.run_script("gpu_check.sh", "--pack"), 2, "needs a folder")
        self.expect(self.run_script("gpu_check.sh", "none/out.json"), 5, "can't be written")
        self.expect(self.run_script("gpu_check.sh", self.folder), 5, "can't be written")

    def test_op_accuracy(self):
        self.expect(self.run_script("op_accuracy.sh", "none"), 2, "no program none/apps/ttt")
        self.expect(self.run_script("op_accuracy.sh", "a", "b"), 2, "2 names")


if __name__ == "__main__":
    unittest.main()
