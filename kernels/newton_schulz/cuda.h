// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/support/cuda_types.h"

namespace ttt::ops::cuda {

struct NewtonSchulzCoefficients {
  float a = 0, b = 0, c = 0;
};

/// Newton-Schulz on matrices g [batch, rows, columns], rows <= columns, all contiguous float.
struct NewtonSchulzLaunch {
  DataType factors = DataType::float32;  ///< of the products
  std::int64_t batch = 0, rows = 0, columns = 0;
  const NewtonSchulzCoefficients* steps = nullptr;
  std::int64_t step_count = 0;
  const float* g = nullptr;
  /// [step_count + 1, batch, rows, columns]: X before each step, and the result. A launch without
  /// backward pass behind it may give two matrices to be used in turn (keep = false).
  float* x = nullptr;
  bool keep = false;
  /// [batch, rows, rows] each; with `keep` per step, for the backward pass.
  float *gram = nullptr, *polynomial = nullptr;
  double* squares = nullptr;  ///< [batch], ||g||^2
};
/// Returns where the result lies.
float* launch_newton_schulz(const NewtonSchulzLaunch& launch, const Stream& stream);

/// The way back; `forward` has kept everything.
struct NewtonSchulzBackwardLaunch {
  NewtonSchulzLaunch forward;
  float *d = nullptr, *previous = nullptr;                 ///< d: given dX, both are overwritten
  float *dq = nullptr, *product = nullptr, *da = nullptr;  ///< [batch, rows, rows]
  double* dot = nullptr;                                   ///< [batch]
  float* dg = nullptr;
};
void launch_newton_schulz_backward(const NewtonSchulzBackwardLaunch& launch, const Stream& stream);

}  // namespace ttt::ops::cuda
