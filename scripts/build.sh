#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
#
# Sets up and builds. usage: scripts/build.sh [PRESET [TARGET…]]   (default: release, everything)
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
shift || true

scripts/setup.sh
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! cmake --preset "$preset" >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
sed -n '/^-- ttt /,$p' "$log" | grep -v -e 'done$' -e '^-- $' -e 'written to' >&2 || true
targets=()
for target in "$@"; do targets+=(--target "$target"); done
cmake --build --preset "$preset" "${targets[@]}" >&2
