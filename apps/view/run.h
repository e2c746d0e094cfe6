// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/view/options.h"

namespace ttt::cli {

/// One call of `ttt view`. Returns the exit code, or throws Error for what ends a run.
int run_view(const OptionTable& table, const ViewOptions& options);

}  // namespace ttt::cli
