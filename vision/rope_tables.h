// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/rope_2d/rope_2d.h"
#include "vision/forward_context.h"

#include <vector>

namespace ttt::vision {

/// Rotary tables on a device that one pass made and later ones use.
class RopeTables {
 public:
  ops::RopeTable get(Grid grid, std::int64_t channels, c10::Device device);
  /// Whether it is time to begin another list.
  bool full() const { return tables_.size() >= kFull; }

 private:
  static constexpr std::size_t kFull = 64;

  std::vector<ops::RopeTable> tables_;
};

/// The table from the list, or a new one where there is no list.
ops::RopeTable rope_table(RopeTables* tables, Grid grid, std::int64_t channels, c10::Device device);

}  // namespace ttt::vision
