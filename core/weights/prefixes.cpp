// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/weights/prefixes.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace ttt::weights {
namespace {

constexpr std::array<std::string_view, 3> kWrappers{"module.", "_orig_mod.",
                                                    "_checkpoint_wrapped_module."};
constexpr std::string_view kModel = "model.";

/// Removes whole path parts equal to `wrapper`, which ends with the dot; the last part of a name is
/// the parameter itself and stays.
bool remove_parts(std::string& name, std::string_view wrapper) {
  bool found = false;
  std::size_t at = 0;
  while ((at = name.find(wrapper, at)) != std::string::npos) {
    const bool whole_part = at == 0 || name[at - 1] == '.';
    if (whole_part && at + wrapper.size() < name.size()) {
      name.erase(at, wrapper.size());
      found = true;
    } else {
      ++at;
    }
  }
  return found;
}

}  // namespace

std::vector<std::string> strip_wrapper_prefixes(std::vector<std::string>& names) {
  std::vector<std::string> found;
  const auto note = [&](std::string_view prefix) {
    if (std::find(found.begin(), found.end(), prefix) == found.end()) found.emplace_back(prefix);
  };
  for (const std::string_view wrapper : kWrappers)
    for (std::string& name : names)
      if (remove_parts(name, wrapper)) note(wrapper);
  const auto has_model = [](const std::string& name) {
    return name.size() > kModel.size() && name.starts_with(kModel);
  };
  while (!names.empty() && std::all_of(names.begin(), names.end(), has_model)) {
    for (std::string& name : names) name.erase(0, kModel.size());
    note(kModel);
  }
  return found;
}

}  // namespace ttt::weights
