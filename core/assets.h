// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ttt {

/// Path of a shipped file such as "imagenet1k-labels.tsv". Looked for in $TTT_ASSETS, then beside
/// the program (../share/ttt/assets), then in the source tree it was built from. Throws
/// Error(input) that lists the places when it is in none of them.
std::string asset_path(std::string_view name);

}  // namespace ttt
