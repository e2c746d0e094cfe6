// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/render/options.h"

namespace ttt::cli {

/// One call of `ttt render`. Returns the exit code, or throws Error for what ends a run.
int run_render(const OptionTable& table, const RenderOptions& options);

}  // namespace ttt::cli
