// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/selftest/options.h"

namespace ttt::cli {

/// Checks, writes rows and summary. Throws Error(check) when something is wrong, after all results
/// are written, and Error(interrupted) likewise.
void run_selftest(const OptionTable& table, const SelftestOptions& options);

}  // namespace ttt::cli
