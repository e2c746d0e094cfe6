#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
#
# Feeds mutated files to the readers of weights, pictures and texts under AddressSanitizer and UBSan.
# usage: scripts/fuzz.sh [TARGET|all [COUNT [SEED]]]   default: all 10000 and a seed by the clock
#        scripts/fuzz.sh list
# Inputs that break a reader are written to out/fuzz; the report says how to run one again. Keep a
# mended one in tests/fuzz/regressions/TARGET.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${TTT_FUZZ_PRESET:-ci}
scripts/build.sh "$preset" fuzz_readers
program=build/$preset/tests/fuzz/fuzz_readers
[ "${1:-}" = list ] && exec "$program" list
export OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive
status=0
target=${1:-all}
# One process for each target, so that a crash ends one of them only.
for name in $([ "$target" = all ] && "$program" list || printf '%s' "$target"); do
  "$program" run "$name" "${2:-10000}" "${3:-$(date +%s)}" 0 out/fuzz || status=1
done
exit $status
