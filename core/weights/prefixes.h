// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ttt::weights {

/// Removes what training wrappers add to parameter names: the parts `module.`, `_orig_mod.` and
/// `_checkpoint_wrapped_module.` anywhere, and `model.` in front where every name has it; again
/// until nothing changes. Returns the prefixes found, for the log.
std::vector<std::string> strip_wrapper_prefixes(std::vector<std::string>& names);

}  // namespace ttt::weights
