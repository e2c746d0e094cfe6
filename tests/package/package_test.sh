#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs the build, moves the prefix, and uses what is there: the program, and the examples of
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

echo "the examples build against the package"
example=$work/example
mkdir "$example"
extract CMakeLists.txt "$example"
extract label.cpp "$example"
extract novel_view.cpp "$example"
extract novel_view.cmake "$example"
cat "$example/novel_view.cmake" >>"$example/CMakeLists.txt"
[ "$(wc -l <"$example/label.cpp")" -lt 20 ] || fail "the example has grown to 20 lines"
launcher=$(command -v ccache || true)
cmake -S "$example" -B "$example/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher" >"$work/configure.log" || { cat "$work/configure.log"; exit 1; }
cmake --build "$example/build"
label=$example/build/label
novel_view=$example/build/novel_view
scene=$prefix/share/ttt/assets/samples/primitives

echo "their errors say what to do"
expect_error() {
  local code=$1 status=0
  clean "${@:2}" 2>"$work/error" || status=$?
  [ "$status" -eq "$code" ] || fail "exit code $status, not $code: ${*:2}"
  grep -q '^error: ' "$work/error" && grep -q '^hint: .' "$work/error" || fail "$(cat "$work/error")"
}
expect_error 3 "$label" /nonexistent.pth "$picture"
expect_error 3 "$novel_view" /nonexistent.pth "$scene" "$work/view.png"
expect_error 2 "$novel_view"

echo "novel_view renders what the program renders"
python3 "$source/tests/package/lvsm_weights.py" "$work/lvsm.safetensors"
expect_error 4 "$novel_view" "$work/lvsm.safetensors" /nonexistent "$work/view.png"
clean "$novel_view" "$work/lvsm.safetensors" "$scene" "$work/view.png"
clean "$prefix/bin/ttt" render "$scene" -w "$work/lvsm.safetensors" --size 64x64 --mode scene -q \
  --normalize-by inputs --input-views 0-14 --target-views 15 -o "$work/rendered" >"$work/rendered.txt"
python3 - "$work/view.png" "$work"/rendered/*.png <<'PYTHON'
import struct, sys, zlib

def pixels(file):
    """The header and the filtered rows of a PNG file."""
    data, at, parts = open(file, "rb").read(), 8, {}
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        parts[kind] = parts.get(kind, b"") + data[at + 8 : at + 8 + length]
        at += length + 12
    return parts[b"IHDR"], zlib.decompress(parts[b"IDAT"])

assert len(sys.argv) == 3, sys.argv
(header, ours), (_, theirs) = pixels(sys.argv[1]), pixels(sys.argv[2])
assert struct.unpack(">II", header[:8]) == (64, 64) and len(set(ours)) > 100, "no picture"
assert ours == theirs, "the example renders another picture than the program"
PYTHON

echo "label gives the program's labels, with the shipped model"
weights=$prefix/share/ttt/assets/cifar10_vit3.safetensors
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
