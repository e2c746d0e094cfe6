// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/rope_tables.h"

namespace ttt::vision {

ops::RopeTable RopeTables::get(Grid grid, std::int64_t channels, c10::Device device) {
  for (const ops::RopeTable& table : tables_)
    if (table.height() == grid.height && table.width() == grid.width &&
        table.channels() == channels && table.row_cos.device() == device)
      return table;
  tables_.push_back(rope_table(nullptr, grid, channels, device));
  return tables_.back();
}

ops::RopeTable rope_table(RopeTables* tables, Grid grid, std::int64_t channels,
                          c10::Device device) {
  if (tables != nullptr) return tables->get(grid, channels, device);
  return ops::make_rope_table(grid.height, grid.width, channels).to(device);
}

}  // namespace ttt::vision
