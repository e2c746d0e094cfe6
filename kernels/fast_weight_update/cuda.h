// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/support/cuda_types.h"

namespace ttt::ops::cuda {

/// out = (weight + step) / (length + 1e-5) * norms over matrices [batch, rows, columns], norms
/// [batch, columns], all contiguous float.
struct FastWeightUpdateLaunch {
  std::int64_t batch = 0, rows = 0, columns = 0;
  const float *weight = nullptr, *step = nullptr, *norms = nullptr;
  float* out = nullptr;
};
void launch_fast_weight_update(const FastWeightUpdateLaunch& launch, const Stream& stream);

struct FastWeightUpdateBackwardLaunch {
  std::int64_t batch = 0, rows = 0, columns = 0;
  const float *sum = nullptr, *norms = nullptr, *dout = nullptr;
  float *dsum = nullptr, *dnorms = nullptr;
};
void launch_fast_weight_update_backward(const FastWeightUpdateBackwardLaunch& launch,
                                        const Stream& stream);

}  // namespace ttt::ops::cuda
