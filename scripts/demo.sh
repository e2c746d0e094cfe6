#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
#
# Sets up, builds, labels 200 shipped pictures with the shipped model and prints its accuracy on
# them. Labels and a contact sheet are written to build/demo.
# usage: scripts/demo.sh [--weights FILE] [PICTURES…]
#   --weights FILE  your checkpoint instead of the shipped one
#   PICTURES        your pictures instead of the shipped ones
set -euo pipefail
cd "$(dirname "$0")/.."

weights=()
if [ "${1:-}" = --weights ]; then
  weights=(--weights "$2")
  shift 2
fi
[ $# -gt 0 ] || set -- assets/samples/cifar10

scripts/build.sh release ttt
ttt=build/release/apps/ttt
out=build/demo
mkdir -p "$out"
"$ttt" classify "${weights[@]}" -k 3 --sheet "$out/contact_sheet.png" --overwrite "$@" \
  >"$out/labels.txt"
# The beginning of the table, and what it ends with: the accuracy, where the true classes are known.
head -8 "$out/labels.txt"
echo "…"
sed -n '/^top-1/,$p' "$out/labels.txt"
echo "all labels: $out/labels.txt"
echo "contact sheet: $out/contact_sheet.png"
