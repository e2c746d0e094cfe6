// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/weights/weight_file.h"

#include <optional>

namespace ttt::weights {

/// One tensor as its header describes it, not yet compared with anything else.
struct SafetensorsEntry {
  TensorInfo info;
  std::uint64_t begin = 0;  ///< in the data section
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  ///< in the order of the header
  std::map<std::string, std::string> metadata;
};

/// Parses the JSON text of a header without building a document, so that memory stays in proportion
/// to valid content. Throws Error(weights) that names the offending tensor.
SafetensorsHeader parse_safetensors_header(std::string_view text, const std::string& where);

}  // namespace ttt::weights
