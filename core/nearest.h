// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ttt {

/// Edits (insert, delete, replace, swap of neighbours) that turn one word into the other.
int edit_distance(std::string_view a, std::string_view b);

/// The candidate that a mistyped word most likely meant, or empty when none is close: a few edits
/// away, or sharing its beginning or a dash-separated part ("batch-size" means "batch").
std::string nearest_name(std::string_view word, std::span<const std::string> candidates);

}  // namespace ttt
