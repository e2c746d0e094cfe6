#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
#
# Trains in several processes on this machine, which share each step's pictures.
# usage: scripts/train_parallel.sh N CONFIG.yaml [ttt train options…]
# With PyTorch installed, `torchrun --no-python --nproc-per-node N ttt train CONFIG.yaml` does the
# same, and also runs on several machines.
set -euo pipefail
[ $# -ge 2 ] || { sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2; }
processes=$1
shift
ttt=$(dirname "$0")/../build/release/apps/ttt

export WORLD_SIZE=$processes MASTER_ADDR=127.0.0.1 MASTER_PORT=${MASTER_PORT:-29511}
cores=$(nproc)
threads=$((cores > processes ? cores / processes : 1))
children=()
trap 'kill -INT "${children[@]}" 2>/dev/null' INT TERM
for ((rank = 1; rank < processes; ++rank)); do
  RANK=$rank LOCAL_RANK=$rank "$ttt" train --threads "$threads" "$@" --quiet >/dev/null &
  children+=($!)
done
RANK=0 LOCAL_RANK=0 "$ttt" train --threads "$threads" "$@" &
children+=($!)
status=0
for child in "${children[@]}"; do wait "$child" || status=$?; done
exit "$status"
