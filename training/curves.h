// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <vector>

namespace ttt::training {

/// From the rows of a run's log: curves.csv (one row a logged step), evaluation.csv (one an
/// evaluation), norms.csv (gradient and inner-loop norms by layer) and curves.png: loss, each score
/// of the training beside its evaluations, other scores, and learning rate over steps.
void write_curves(const std::vector<nlohmann::ordered_json>& rows,
                  const std::filesystem::path& folder);

}  // namespace ttt::training
