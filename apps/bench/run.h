// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/bench/options.h"

namespace ttt::cli {

/// Measures, writes rows and summary. Throws the first subject's error after all results are
/// written, and Error(interrupted) likewise.
void run_bench(const OptionTable& table, const BenchOptions& options);

}  // namespace ttt::cli
