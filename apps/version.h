// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ttt::cli {

/// What `ttt --version` prints. Known at build time, so nothing is initialised for it.
std::string version_text();

}  // namespace ttt::cli
