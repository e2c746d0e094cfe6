// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/classify/options.h"
#include "apps/classify/rows.h"
#include "core/inputs/inputs.h"

#include <optional>
#include <string>
#include <vector>

namespace ttt::cli {

/// The pictures that the options name, or this shard's share of them. Throws Error(usage) when none
/// are named or the shard is malformed, and what expand_inputs() throws.
InputSet gather_inputs(const ClassifyOptions& options);

/// The classes that the items show, one per item; empty when they are not labelled, or the labels
/// are not classes of the model (which is logged).
std::vector<std::optional<Target>> match_targets(const InputSet& inputs,
                                                 const vision::LabelSet& labels,
                                                 std::int64_t classes);

/// A file, whatever its name looks like.
InputItem file_item(const std::string& path);

}  // namespace ttt::cli
