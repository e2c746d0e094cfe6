#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ttt authors
# SPDX-License-Identifier: Apache-2.0
#
# Sets up, builds with warnings as errors, checks the formatting and runs all tests.
# usage: scripts/test.sh [CTEST ARGUMENTS…]   for example: scripts/test.sh -R classify
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh --tests
scripts/build.sh ci
scripts/check_format.sh
ctest --preset ci --parallel "$(nproc)" --no-tests=error "$@"
