// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/bench/options.h"

namespace ttt::cli {

/// `--compare A B`: a row for each subject of either result file. Throws Error(check) when one
/// takes longer in B by more than the threshold, after all rows are written; Error(input) for files
/// that can't be read, aren't results of `ttt bench`, or have no subject in common.
void run_comparison(const OptionTable& table, const BenchOptions& options);

}  // namespace ttt::cli
