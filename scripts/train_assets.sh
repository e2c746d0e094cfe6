#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
#
# Trains the shipped CIFAR-10 models, measures them on the 10,000 test pictures and writes assets/:
# weights as bf16 safetensors, and model cards. Runs that were interrupted go on where they stopped.
# usage: scripts/train_assets.sh [NAME…]      (default: cifar10_vit3 cifar10_hvit3)
#   TTT_RUNS    folder of the runs (default build/runs)
#   TTT_SHARED  folder with data/cifar10.tar (default ../shared)
#   TTT_THREADS threads of a training (default: one per core)
set -euo pipefail
cd "$(dirname "$0")/.."

runs=${TTT_RUNS:-build/runs}
data=${TTT_SHARED:-../shared}/data/cifar10.tar
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(cifar10_vit3 cifar10_hvit3)
[ -e "$data" ] || { echo "error: there is no $data" >&2; exit 4; }

scripts/build.sh release ttt
ttt=build/release/apps/ttt
threads=()
[ -z "${TTT_THREADS:-}" ] || threads=(--threads "$TTT_THREADS")

for name in "${names[@]}"; do
  "$ttt" train "configs/$name.yaml" --data "$data" --output "$runs/$name" --resume \
    --checkpoint-steps 100 "${threads[@]}" >&2
  # The weights after the last step, not the ones that did best on the test pictures: choosing by
  # those would make the accuracy below look better than it is.
  last=$(find "$runs/$name/checkpoints" -name 'step-*.safetensors' | sort | tail -1)
  "$ttt" convert "$last" "assets/$name.safetensors" --dtype bf16 --overwrite
  "$ttt" classify --weights "assets/$name.safetensors" "$data" --split test --batch 100 \
    --format jsonl --output "$runs/$name/test.jsonl" --overwrite
  tail -1 "$runs/$name/test.jsonl" |
    python3 scripts/model_card.py "configs/$name.yaml" "$runs/$name" "assets/$name.safetensors" \
      >"assets/$name.md"
  echo "assets/$name.md written" >&2
done
