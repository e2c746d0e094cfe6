#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
#
# Trains in several processes on this machine, which share each step's pictures.
# usage: scripts/train_parallel.sh N CONFIG.yaml [ttt train options…]
#   TTT_PROGRAM  the program (default: built here)
#   MASTER_PORT  where the processes meet (default 29511)
# With PyTorch installed, `torchrun --no-python --nproc-per-node N ttt train CONFIG.yaml` does the
# same, and also runs on several machines.
set -euo pipefail
[[ $# -ge 2 && $1 =~ ^[1-9][0-9]*$ ]] || { sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2; }
processes=$1
shift
ttt=${TTT_PROGRAM:-}
if [ -z "$ttt" ]; then
  root=$(dirname "$0")/..
  "$root/scripts/build.sh" release ttt >&2
  ttt=$root/build/release/apps/ttt
fi

[ -x "$(command -v "$ttt")" ] || { echo "error: there is no program $ttt" >&2; exit 2; }

export WORLD_SIZE=$processes MASTER_ADDR=127.0.0.1 MASTER_PORT=${MASTER_PORT:-29511}
cores=$(nproc)
threads=$((cores > processes ? cores / processes : 1))
children=()
signalled=
stopped=
stop() {
  stopped=1
  kill -INT "${children[@]}" 2>/dev/null || true
}
trap 'signalled=1; stop' INT TERM
# Each in a process group of its own: Ctrl-C then reaches it once, from here. A second one would
# end it before its checkpoint is written.
set -m
# The first one tells how it goes; the others only what goes wrong.
RANK=0 LOCAL_RANK=0 "$ttt" train --threads "$threads" "$@" &
children+=($!)
for ((rank = 1; rank < processes; ++rank)); do
  RANK=$rank LOCAL_RANK=$rank "$ttt" train --threads "$threads" "$@" --quiet >/dev/null &
  children+=($!)
done
# The first one to fail ends the others, which would wait for it. A signal ends a wait early, and
# the processes then still have to write their checkpoint.
status=0
ended=0
while [ "$ended" -lt "$processes" ]; do
  code=0
  signalled=
  wait -n || code=$?
  [ -z "$signalled" ] || continue
  [ "$code" -ne 127 ] || break # a signal came when the last one ended
  ended=$((ended + 1))
  [ "$code" -ne 0 ] || continue
  [ "$status" -ne 0 ] || status=$code
  [ -n "$stopped" ] || stop
done
exit "$status"
