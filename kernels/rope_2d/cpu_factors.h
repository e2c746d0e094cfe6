// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/rope_2d/cpu_kernel.h"
#include "kernels/rope_2d/rope_2d.h"

#include <ATen/core/Tensor.h>

namespace ttt::ops::cpu {

/// The factors of a table laid out for the vectorised loops; `inverse` turns back.
class RopeFactors {
 public:
  RopeFactors(const RopeTable& table, bool inverse);
  /// Valid as long as this object or a copy of it.
  RopeAngles angles() const;

 private:
  std::int64_t width_, half_;
  at::Tensor rows_, columns_;  ///< [2, positions, half]: cosines, sines
};

}  // namespace ttt::ops::cpu
