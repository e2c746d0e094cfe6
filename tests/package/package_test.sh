#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs the build, moves the prefix, and uses what is there: the program, and the example of
# docs/embedding.md as an external project. usage: package_test.sh SOURCE BUILD COMPILER
set -euo pipefail
source=$1 build=$2 compiler=$3
work=$(mktemp -d)
manifest=$build/install_manifest.txt # of the user's own installation; ours must not replace it
[ ! -f "$manifest" ] || cp "$manifest" "$work/manifest"
trap '[ ! -f "$work/manifest" ] || cp "$work/manifest" "$manifest"; rm -rf "$work"' EXIT
prefix="$work/moved to"

fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
# In an environment that has no other way to find things.
clean() { (cd / && env -i HOME="$HOME" PATH="$PATH" OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive "$@"); }
# The block of docs/embedding.md with this file name.
extract() {
  awk -v name="$1" '/^```/ { inside = ($2 == name); next } inside' "$source/docs/embedding.md" >"$2/$1"
  [ -s "$2/$1" ] || fail "docs/embedding.md has no block $1"
}

cmake --install "$build" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$prefix"

echo "exported files name neither the source nor the build tree"
package=$(dirname "$(find "$prefix" -name tttConfig.cmake)")
if grep -rFn -e "$source" -e "$build" -e "$work" "$package" "$prefix/include"; then
  fail "paths of the build in the package"
fi

echo "every header that an installed header includes is installed"
while read -r header; do
  [ -f "$prefix/include/ttt/$header" ] || fail "$header is included but not installed"
done < <(grep -rhoP '^#include "\K[^"]+' "$prefix/include/ttt" | sort -u)

echo "the moved program finds its libraries and files"
clean "$prefix/bin/ttt" --version >"$work/version"
picture="$prefix/share/ttt/assets/samples/toy.png"
[ -f "$picture" ] || fail "samples are not installed"
clean "$prefix/bin/ttt" classify --model vit3_t --random-weights -k 1 -q "$picture" >"$work/row"
if ldd "$prefix"/lib*/libttt_ops.so | grep 'not found'; then fail "libttt_ops.so lacks libraries"; fi

echo "the example builds against the package"
example=$work/example
mkdir "$example"
extract CMakeLists.txt "$example"
extract label.cpp "$example"
[ "$(wc -l <"$example/label.cpp")" -lt 20 ] || fail "the example has grown to 20 lines"
launcher=$(command -v ccache || true)
cmake -S "$example" -B "$example/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" >"$work/configure.log" || { cat "$work/configure.log"; exit 1; }
cmake --build "$example/build"
label=$example/build/label

echo "its errors say what to do"
status=0
clean "$label" /nonexistent.pth "$picture" 2>"$work/error" || status=$?
[ "$status" -eq 3 ] || fail "exit code $status for missing weights"
grep -q '^error: ' "$work/error" && grep -q '^hint: .' "$work/error" || fail "$(cat "$work/error")"

echo "it gives the program's labels, with the shipped model"
weights=$(find "$prefix/share/ttt/assets" -name '*.safetensors' | head -n 1)
picture=$prefix/share/ttt/assets/samples/cifar10/frog/0001.jpg
clean "$label" "$weights" "$picture" | tee "$work/labels"
clean "$prefix/bin/ttt" classify --weights "$weights" -k 5 --format jsonl -q "$picture" >"$work/rows"
python3 - "$work/labels" "$work/rows" <<'PYTHON'
import json, sys
ours = [line.rstrip("\n").split("\t") for line in open(sys.argv[1])]
row = next(r for r in map(json.loads, open(sys.argv[2])) if "topk" in r)
theirs = [(entry["prob"], entry["label"]) for entry in row["topk"]]
assert len(ours) == 5, ours
for (probability, label), (expected, name) in zip(ours, theirs, strict=True):
    assert label == name and abs(float(probability) - expected) < 1e-5, (ours, theirs)
PYTHON
