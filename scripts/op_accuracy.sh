#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
#
# Writes docs/op-accuracy.md from self-tests on this machine. CUDA kernels run on the GPU if there is
# one, else on the host emulator of the tests.
# usage: scripts/op_accuracy.sh [BUILD FOLDER]   (default: build/release)
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/release}
die() { printf 'error: %s\nhint: %s\n' "$1" "$2" >&2; exit "${3:-1}"; }
[ $# -le 1 ] || die "there are $# names instead of one" "scripts/op_accuracy.sh [BUILD FOLDER]" 2
[ -x "$build/apps/ttt" ] || die "there is no program $build/apps/ttt" "scripts/build.sh builds it" 2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

listed=$("$build/apps/ttt" list ops --format json)
mapfile -t ops < <(python3 -c 'import json, sys
for op in json.loads(sys.argv[1])["ops"]: print("--op\n" + op["name"])' "$listed")
"$build/apps/ttt" selftest -q "${ops[@]}" --format json >"$scratch/native.json"
if ! grep -q '"backend":"cuda".*"status":"ok"' "$scratch/native.json"; then
  [ -x "$build/tests/emulator/selftest_emulated" ] ||
    die "there is no program $build/tests/emulator/selftest_emulated" \
      "build it: cmake --build $build --target selftest_emulated" 2
  "$build/tests/emulator/selftest_emulated" -q "${ops[@]}" --backend cuda --format json \
    >"$scratch/emulated.json"
fi

python3 - "$scratch" docs/op-accuracy.md <<'EOF'
import json
import pathlib
import sys

folder, target = map(pathlib.Path, sys.argv[1:])
native = json.loads((folder / "native.json").read_text())
emulated = folder / "emulated.json"
rows = [row for row in native["results"] if row["kind"] == "op"]
if emulated.exists():
    rows += [row for row in json.loads(emulated.read_text())["results"] if row["kind"] == "op"]
names = list(dict.fromkeys(row["name"] for row in rows))
types = ["fp32", "bf16", "fp16"]
backends = ["reference", "cpu", "cuda"]
rows.sort(key=lambda row: (names.index(row["name"]), backends.index(row["backend"]),
                           types.index(row["dtype"])))


def cell(deviations):
    """Every type of tensor, since states stay float; the type is said where there are several."""
    return ", ".join(f"{d['max_error']:.1e} / {d['tolerance']:.1e}"
                     + (f" ({d['type']})" if len(deviations) > 1 else "") for d in deviations) or "–"


summary = native["summary"]
where = "on a GPU" if not emulated.exists() else "on the host emulator of the tests, without a GPU"
text = f"""# Accuracy of the operations

Each entry is *largest error / tolerance*: the largest difference from the reference implementation over all
test cases of the operation, relative to the largest value of the tensor, for outputs and for gradients. States
such as inner weights stay fp32 when activations are bf16 or fp16; types are then listed one by one. The
reference, which computes in double, is compared with its own results without any rounding on the way.
`ttt selftest` measures the same on your machine.

Written by `scripts/op_accuracy.sh`: {summary['host']['processor']}, LibTorch {summary['libtorch']},
ttt {summary['version']}; the CUDA kernels ran {where}.

| operation | backend | type | outputs | gradients |
|---|---|---|---|---|
"""
for row in rows:
    backend = row["backend"] + (f" {row['isa']}" if row["isa"] else "")
    text += (f"| `{row['name']}` | {backend} | {row['dtype']} | {cell(row['outputs'])} "
             f"| {cell(row['gradients'])} |\n")
target.write_text(text)
EOF
echo "docs/op-accuracy.md: written"
