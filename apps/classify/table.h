// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/classify/rows.h"

namespace ttt::cli {

/// For people: a line for the picture, one for each class, and what the run came to.
std::unique_ptr<ResultRenderer> make_table_renderer(const RowSettings& settings);

/// Layers and numbers of an "inner" list (see inner_json) in aligned columns.
std::string inner_table(const nlohmann::ordered_json& layers);

}  // namespace ttt::cli
