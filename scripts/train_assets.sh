#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
#
# Trains the shipped models, measures them (on the 10,000 test pictures of CIFAR-10, or on held-out
# made-up scenes) and writes assets/: weights as bf16 safetensors, and model cards. Runs that were
# interrupted go on where they stopped.
# usage: scripts/train_assets.sh [NAME…]      (default: cifar10_vit3 cifar10_hvit3 lvsm_procedural)
#   TTT_RUNS    folder of the runs (default build/runs)
#   TTT_SHARED  folder with data/cifar10.tar and data/gso_* (default ../shared)
#   TTT_THREADS threads of a training (default: one per core)
#   TTT_PROGRAM a built ttt (default: build/release/apps/ttt, which is built if need be)
set -euo pipefail
cd "$(dirname "$0")/.."

runs=${TTT_RUNS:-build/runs}
shared=${TTT_SHARED:-../shared}/data
names=("$@")
[ ${#names[@]} -gt 0 ] || names=(cifar10_vit3 cifar10_hvit3 lvsm_procedural)

# What a model is trained on; what its card's measurements are read from goes to standard output.
data_of() {
  case $1 in
    lvsm_*) echo --data procedural --data "$shared/gso_sample_data_path.json" ;;
    *) echo --data "$shared/cifar10.tar" ;;
  esac
}
measure() {
  case $1 in
    lvsm_*)
      TTT_PROGRAM=$ttt TTT_RECIPE=configs/$1.yaml \
        scripts/evaluate_lvsm.sh "assets/$1.safetensors" "$runs/$1/evaluation" >&2
      # Shown by the model card.
      cp "$runs/$1/evaluation/pictures.png" "docs/$1.png"
      cat "$runs/$1/evaluation/summary.json"
      ;;
    *)
      "$ttt" classify --weights "assets/$1.safetensors" "$shared/cifar10.tar" --split test \
        --batch 100 --format jsonl --output "$runs/$1/test.jsonl" --overwrite
      tail -1 "$runs/$1/test.jsonl"
      ;;
  esac
}

ttt=${TTT_PROGRAM:-build/release/apps/ttt}
[ -n "${TTT_PROGRAM:-}" ] || scripts/build.sh release ttt
threads=()
[ -z "${TTT_THREADS:-}" ] || threads=(--threads "$TTT_THREADS")

for name in "${names[@]}"; do
  read -ra data <<<"$(data_of "$name")"
  for path in "${data[@]}"; do
    case $path in --data | procedural) continue ;; esac
    [ -e "$path" ] || { echo "error: there is no $path" >&2; exit 4; }
  done
  "$ttt" train "configs/$name.yaml" "${data[@]}" --output "$runs/$name" --resume \
    --checkpoint-steps 100 "${threads[@]}" >&2
  # The weights after the last step, not the ones that did best on the test data: choosing by those
  # would make the numbers below look better than they are.
  last=$(find "$runs/$name/checkpoints" -name 'step-*.safetensors' | sort | tail -1)
  "$ttt" convert "$last" "assets/$name.safetensors" --dtype bf16 --overwrite
  measure "$name" |
    python3 scripts/model_card.py "configs/$name.yaml" "$runs/$name" "assets/$name.safetensors" \
      >"assets/$name.md"
  echo "assets/$name.md written" >&2
done
