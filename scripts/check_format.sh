#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
#
# Fails when a source file isn't formatted by .clang-format. --fix formats them.
set -euo pipefail
cd "$(dirname "$0")/.."
mode=(--dry-run --Werror)
[ "${1:-}" = --fix ] && mode=(-i)
git ls-files '*.cpp' '*.h' '*.cu' '*.cuh' | xargs -r clang-format "${mode[@]}"
