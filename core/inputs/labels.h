// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/inputs/inputs.h"

#include <string>
#include <vector>

namespace ttt::inputs {

/// An item on the way to the set.
struct Candidate {
  InputItem item;
  bool has_label = false;  ///< from a table
};

/// Takes one split out of <split>/<class>/file, where there are several; see InputOptions::split.
/// Returns the name of the split, or nothing when all were kept. Throws Error(usage).
std::string choose_split(std::vector<Candidate>& candidates, const std::string& wanted);

/// Finds out whether the set is labelled and fills everything but the items and the split.
void find_labels(std::vector<Candidate>& candidates, InputSet& set);

}  // namespace ttt::inputs
