# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
"""The goals of scripts/bench_vs_pytorch.py --check, each with results that reach it and that don't."""
import argparse
import contextlib
import copy
import io
import json
import pathlib
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[3] / "scripts"
sys.path[:0] = [str(SCRIPTS), str(SCRIPTS / "pytorch_baseline")]
import bench_vs_pytorch  # noqa: E402
import report  # noqa: E402

NAN = float("nan")


def forward_row():
    """Reaches every goal by its ratios; the roofline's share is low."""
    rates = {"ttt fp32": 100, "pytorch eager fp32": 62, "pytorch compiled fp32": 86,
             "deit eager fp32": 99, "deit compiled fp32": 99,
             "ttt bf16": 190, "pytorch eager bf16": 140, "pytorch compiled bf16": 158,
             "deit eager bf16": 189, "deit compiled bf16": 189}
    return {"model": "vit3_t", "size": 224, "batch": 8, "deit": "deit_tiny", "images_per_s": rates,
            "roofline_share": {"fp32": 0.5, "bf16": 0.4}}


def good_result():
    return {
        "about": {"processor": "P", "threads": 2, "ttt": "ttt 1", "commit": "c", "pytorch": "2",
                  "timm": "1", "rounds": 5},
        "forward": [forward_row()],
        "training": [{"model": "vit3_t", "size": 224, "batch": 8, "dtype": dtype,
                      "seconds": {"ttt": 1, "pytorch": goal},
                      "memory_mib": {"ttt": 100, "pytorch": 100}}
                     for dtype, goal in (("fp32", 1.31), ("bf16", 1.41))],
        "linear": [{"size": size, "tokens": (size // 16) ** 2,
                    "seconds": {"ttt": (size // 16) ** 2 * (1.14 if size == 2048 else 1),
                                "deit": (size // 16) ** 2 * 2}} for size in (224, 512, 1024, 2048)],
        "memory": {"size": 2048, **{dtype: {"ttt": 50, "pytorch": 100}
                                    for dtype in ("fp32", "bf16")}},
        "folder": {"pictures": 1000,
                   "vit3_s fp32": {"images_per_s": 92.1, "bare_images_per_s": 100},
                   "vit3_t bf16": {"images_per_s": 85.1, "bare_images_per_s": 100}},
        "accuracy": {"cifar10_vit3": {"fp32": 0.9, "bf16": 0.899}},
        "lact": [{"call": "apply", "dim": dim, "dtype": dtype, "gflops": 1, "roofline_share": share}
                 for dim in (384, 1024) for dtype, share in (("fp32", 0.85), ("bf16", 0.75))]}


def place(result, path):
    for key in path[:-1]:
        result = result[key]
    return result


# What is changed, to what, and what the line about it says.
RATES = ("forward", 0, "images_per_s")
MISSES = (
    ((*RATES, "pytorch compiled fp32"), 88, "1.14 times pytorch compiled fp32, goal 1.15"),
    ((*RATES, "pytorch eager fp32"), 63, "1.59 times pytorch eager fp32, goal 1.6"),
    ((*RATES, "pytorch compiled bf16"), 160, "1.19 times pytorch compiled bf16, goal 1.2"),
    ((*RATES, "pytorch eager fp32"), 64, "2.97 times pytorch eager fp32, goal 3.0"),
    ((*RATES, "deit eager fp32"), 100, "1.00 times deit_tiny eager, goal 1"),
    ((*RATES, "deit compiled fp32"), 101, "times deit_tiny compiled, goal 1"),
    ((*RATES, "deit eager bf16"), 200, "0.95 times deit_tiny eager, goal 1"),
    ((*RATES, "deit compiled bf16"), 190, "1.00 times deit_tiny compiled, goal 1"),
    (("training", 0, "seconds", "pytorch"), 1.29, "training fp32: 1.29 times eager PyTorch, goal 1.3"),
    (("training", 1, "seconds", "pytorch"), 1.39, "training bf16: 1.39 times eager PyTorch, goal 1.4"),
    (("training", 0, "memory_mib", "ttt"), 101, "training fp32: 101 MiB, eager PyTorch 100"),
    (("linear", 3, "seconds", "ttt"), 128 ** 2 * 1.16, "2048² is 1.16 times that at 512², goal 1.15"),
    (("linear", 3, "seconds", "deit"), 128 ** 2 * 1.1, "vit3_t 2048² b1 bf16: 0.96 times DeiT-T"),
    (("memory", "fp32", "ttt"), 51, "memory at 2048² fp32: 0.51 of eager PyTorch's, goal 0.5"),
    (("memory", "bf16", "ttt"), 51, "memory at 2048² bf16: 0.51"),
    (("folder", "vit3_s fp32", "images_per_s"), 91, "vit3_s fp32: 91% of the bare model, goal 92%"),
    (("folder", "vit3_t bf16", "images_per_s"), 84, "vit3_t bf16: 84% of the bare model, goal 85%"),
    (("accuracy", "cifar10_vit3", "bf16"), 0.8985, "top-1 0.9000 in fp32, 0.8985 in bf16"),
    (("accuracy", "cifar10_vit3", "bf16"), 0.9015, "top-1 0.9000 in fp32, 0.9015 in bf16"),
    (("lact", 0, "roofline_share"), 0.84, "apply at 384 fp32: 84% of the roofline, goal 85%"),
    (("lact", 3, "roofline_share"), 0.74, "apply at 1024 bf16: 74% of the roofline, goal 75%"))


class Goals(unittest.TestCase):
    def test_a_result_that_reaches_all_has_no_shortfall(self):
        self.assertEqual(report.shortfalls(good_result()), [])

    def test_each_goal_can_be_missed(self):
        for path, value, message in MISSES:
            with self.subTest(path=path, value=value):
                result = good_result()
                place(result, path)[path[-1]] = value
                short = report.shortfalls(result)
                self.assertTrue(any(message in line for line in short), short)

    def test_the_roofline_stands_in_for_the_ratios_to_pytorch(self):
        for dtype, enough, short in (("fp32", 0.80, 0.79), ("bf16", 0.65, 0.64)):
            row = forward_row()
            for other in row["images_per_s"]:
                if other.startswith("pytorch"):
                    row["images_per_s"][other] = 1000
            row["roofline_share"] = {"fp32": 1, "bf16": 1, dtype: enough}
            self.assertEqual(list(report.forward_shortfalls(row)), [])
            row["roofline_share"][dtype] = short
            lines = list(report.forward_shortfalls(row))
            self.assertEqual(len(lines), 2)
            self.assertTrue(all(f" {dtype}: " in line for line in lines), lines)

    def test_the_roofline_does_not_stand_in_for_deit(self):
        row = forward_row()
        row["roofline_share"] = {"fp32": 1, "bf16": 1}
        row["images_per_s"]["deit eager fp32"] = 101
        self.assertEqual(len(list(report.forward_shortfalls(row))), 1)

    def test_what_was_not_measured_reaches_no_goal(self):
        for path, _, _ in MISSES:
            for nothing in (None, NAN):
                with self.subTest(path=path, nothing=nothing):
                    result = good_result()
                    place(result, path)[path[-1]] = nothing
                    self.assertNotEqual(report.shortfalls(result), [])

    def test_rows_without_memory_make_a_table(self):
        result = good_result()
        result["training"][0]["memory_mib"]["ttt"] = None
        result["memory"]["fp32"]["ttt"] = None
        self.assertIn("nan MiB", report.table(result))


class Check(unittest.TestCase):
    def conclude(self, result, check=True):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            status = bench_vs_pytorch.conclude(argparse.Namespace(check=check), result)
        return status, out.getvalue().splitlines()

    def test_the_last_line_names_a_shortfall(self):
        result = good_result()
        result["memory"]["bf16"]["ttt"] = 60
        status, lines = self.conclude(result)
        self.assertEqual(status, 1)
        self.assertEqual(lines[-1], "short: memory at 2048² bf16: 0.60 of eager PyTorch's, goal 0.5")
        self.assertEqual(self.conclude(result, check=False)[0], 0)

    def test_all_reached_is_zero(self):
        status, lines = self.conclude(good_result())
        self.assertEqual(status, 0)
        self.assertFalse([line for line in lines if line.startswith(("short", "not measured"))])

    def test_parts_that_are_missing_or_empty_are_named(self):
        result = copy.deepcopy(good_result())
        del result["folder"]
        result["accuracy"] = {}
        status, lines = self.conclude(result)
        self.assertEqual(status, 0)
        self.assertEqual([line for line in lines if line.startswith("not measured")],
                         ["not measured: folder", "not measured: accuracy"])


class EarlierResults(unittest.TestCase):
    ABOUT = {"commit": "new", "threads": 2}

    def earlier(self, text, add=True):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "result.json"
            path.write_text(text, encoding="utf-8")
            return bench_vs_pytorch.earlier_parts(
                argparse.Namespace(output=str(path), add=add), self.ABOUT)

    def test_parts_of_the_same_program_are_kept(self):
        text = json.dumps({"about": self.ABOUT, "memory": {"size": 2048}, "unknown": 1})
        self.assertEqual(self.earlier(text), {"memory": {"size": 2048}})
        self.assertEqual(self.earlier(text, add=False), {})

    def test_another_commit_is_refused(self):
        for about in ({**self.ABOUT, "commit": "old"}, {}):
            with self.assertRaisesRegex(SystemExit, "measured with commit (old|None), this is new\nhint"):
                self.earlier(json.dumps({"about": about}))

    def test_what_is_no_result_is_refused(self):
        for text in ("", "{", "[]", "5", "{}", '{"about": 5}', '{"about": null}'):
            with self.subTest(text=text), self.assertRaisesRegex(SystemExit, "no result of this script"):
                self.earlier(text)


if __name__ == "__main__":
    unittest.main()
