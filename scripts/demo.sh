#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
#
# Sets up, builds, labels 200 shipped pictures with the shipped model and prints its accuracy on
# them; then renders a fly-through of a shipped scene from eight of its views. Labels, a contact
# sheet and the movies are written to build/demo.
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

# A flight around a made-up scene that the shipped model was not trained on.
if [ -e assets/lvsm_procedural.safetensors ]; then
  "$ttt" render assets/samples/primitives --input-views 0-7 --target-views 8-15 \
    --save-state "$out/scene.safetensors" --sheet "$out/views.png" --overwrite
  for movie in flight.gif flight.mp4; do
    "$ttt" render assets/samples/primitives --input-views 0-7 --state "$out/scene.safetensors" \
      --path orbit --frames 60 --fps 20 -o "$out/$movie" --overwrite --quiet >/dev/null
  done
  echo "new views beside the truth: $out/views.png"
  echo "fly-through: $out/flight.gif, $out/flight.mp4"
fi
