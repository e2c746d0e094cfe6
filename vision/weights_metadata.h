// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/media/preprocess.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ttt::vision {

/// What our own safetensors files say in their metadata, beside the tensors:
/// "ttt.preprocess": JSON {"width", "height", "crop_pct", "resize": "cover"|"squash", "mean",
/// "std"}; "ttt.labels": JSON list of class names.
using Metadata = std::map<std::string, std::string>;

/// Nothing when the key is absent. Throws Error(weights) when it is malformed or out of range.
std::optional<PreprocessOptions> read_preprocess_metadata(const Metadata& metadata,
                                                          const std::string& file);
/// Empty when the key is absent. Throws Error(weights) when it is malformed.
std::vector<std::string> read_label_metadata(const Metadata& metadata, const std::string& file);

void write_preprocess_metadata(Metadata& metadata, const PreprocessOptions& options);
void write_label_metadata(Metadata& metadata, const std::vector<std::string>& labels);

}  // namespace ttt::vision
