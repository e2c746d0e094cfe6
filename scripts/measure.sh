#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
#
# Prints the table under "Measured" in README.md, from runs on this machine.
# usage: scripts/measure.sh [PROGRAM]   (default: build/release/apps/ttt)
# Accuracy needs the shared test data ($TTT_SHARED, else ../shared); its row is left out without it.
set -euo pipefail
cd "$(dirname "$0")/.."
program=${1:-build/release/apps/ttt}
shared=${TTT_SHARED:-../shared}
picture=assets/samples/toy.png
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# field FILE KEY: a value of the summary row of a JSON-lines result
field() { tail -n 1 "$1" | python3 -c 'import json, sys
value = json.load(sys.stdin)
for key in sys.argv[1].split("."): value = value[key]
print(value)' "$2"; }

# Wall time of one cold call, the median of five.
cold_start() {
  for _ in 1 2 3 4 5; do
    local begin
    begin=$(date +%s%N)
    "$program" classify -q "$@" "$picture" >/dev/null
    echo $((($(date +%s%N) - begin) / 1000000))
  done | sort -n | sed -n 3p
}

# Pictures a second over 64 copies of a picture, decoding included.
rate() {
  for i in $(seq 64); do echo "$PWD/$picture"; done >"$scratch/list.txt"
  "$program" classify -q --list "$scratch/list.txt" --format jsonl "$@" >"$scratch/rate.jsonl"
  python3 -c "print(f'{64000 / $(field "$scratch/rate.jsonl" total_time_ms):.1f}')"
}

echo "| what | result |"
echo "|---|---|"
cifar=$shared/golden/vision/cifar
if [ -f "$cifar/vit3_cifar.pth" ] && [ -f "$shared/data/cifar10.tar" ]; then
  "$program" classify -q --weights "$cifar/vit3_cifar.pth" --size 32x32 --crop-pct 1 --decode official \
    --batch 64 --format jsonl "$shared/data/cifar10.tar" >"$scratch/cifar.jsonl"
  official=$(python3 -c "import json; print(json.load(open('$cifar/vit3_cifar.json'))['accuracy']['correct'])")
  ours=$(field "$scratch/cifar.jsonl" accuracy.top1)
  echo "| 10,000 CIFAR-10 test pictures, a small official ViT3: right answers | $(python3 -c "print(round($ours * 10000))"), the Python code $official |"
fi
echo "| one photograph, cold start to printed labels, ViT3-T | $(cold_start --model vit3_t --random-weights) ms |"
for model in vit3_t vit3_s hvit3_t; do
  for dtype in fp32 bf16; do
    echo "| $model, 224×224, batch 8, $dtype, decoding included | $(rate --model $model --random-weights --dtype $dtype) pictures/s |"
  done
done
cpu=$(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1)
echo
echo "Machine: $cpu, $(nproc) cores. Version: $("$program" --version | sed -n '1p;2s/commit */commit /p' | paste -sd, | sed 's/,/, /')."
