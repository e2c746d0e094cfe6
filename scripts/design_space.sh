#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
#
# Trains a small ViT3 on CIFAR-10 at many points of the inner-loop design space (one axis at a time,
# the same budget and seeds for each), then writes the table of docs/design-space.md and the plot.
# Finished runs are kept: the script goes on where it was stopped.
# usage: scripts/design_space.sh [--only AXIS] [--report-only]
#   AXIS         loss batch epochs lr rule clip width depth fc glu convolution combination
#   TTT_RUNS     folder of the runs (default build/runs); they lie in its design_space/
#   TTT_SHARED   folder with data/cifar10.tar (default ../shared)
#   TTT_THREADS  threads of a training (default: one per core)
#   TTT_PROGRAM  a built ttt (default: build/release/apps/ttt, which is built if need be)
set -euo pipefail
cd "$(dirname "$0")/.."

only=()
train=true
TIMEFORMAT=%U
while [ $# -gt 0 ]; do
  case $1 in
    --only) only=(--only "${2:?error: --only needs an axis}"); shift 2 ;;
    --report-only) train=false; shift ;;
    *) sed -n '6,13s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done

runs=${TTT_RUNS:-build/runs}/design_space
if $train; then
  data=${TTT_SHARED:-../shared}/data/cifar10.tar
  [ -e "$data" ] || { echo "error: there is no $data" >&2; exit 4; }
  ttt=${TTT_PROGRAM:-build/release/apps/ttt}
  [ -n "${TTT_PROGRAM:-}" ] || scripts/build.sh release ttt
  threads=()
  [ -z "${TTT_THREADS:-}" ] || threads=(--threads "$TTT_THREADS")
  list=$(python3 scripts/design_space.py runs "${only[@]}")
  while IFS=$'\t' read -r name seed settings <&4; do
    grep -q '"status": *"complete"' "$runs/$name/train.run.json" 2>/dev/null && continue
    echo "$name" >&2
    arguments=()
    for setting in $settings; do arguments+=(--set "$setting"); done
    mkdir -p "$runs/$name"
    # User time: what else the machine does hardly matters. The parts of a resumed run add up.
    { time "$ttt" train scripts/design_space.yaml --data "$data" --output "$runs/$name" --resume \
        --seed "$seed" "${arguments[@]}" "${threads[@]}" >&3 2>&3; } 3>&2 2>>"$runs/$name/cpu_seconds"
    rm -rf "$runs/$name/checkpoints"  # the numbers are in the log
  done 4<<<"$list"
fi
python3 scripts/design_space.py report "$runs"
