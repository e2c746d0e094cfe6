#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
#
# Sets up, builds, and classifies pictures.
# usage: scripts/demo.sh [--weights FILE] [PICTURES…]   (default: the shipped samples)
#
# Without a checkpoint the published ViT3-T runs with random weights: it shows the whole path on your
# machine, not meaningful labels.
set -euo pipefail
cd "$(dirname "$0")/.."

weights=()
if [ "${1:-}" = --weights ]; then
  weights=(--weights "$2")
  shift 2
else
  weights=(--model vit3_t --random-weights --seed 0)
fi
[ $# -gt 0 ] || set -- assets/samples

scripts/build.sh release ttt
program=build/release/apps/ttt
if [ "${weights[0]}" = --model ]; then
  echo "No checkpoint was given, so the weights are random and the labels mean nothing." >&2
  echo "With yours: scripts/demo.sh --weights vittt_tiny.pth my_photos/" >&2
fi
set -x
"$program" classify "${weights[@]}" -k 3 "$@"
