// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/support/cuda_types.h"

namespace ttt::ops::cuda {

/// The table of a grid, for an op that rotates while it reads; null: no rotation.
struct RopeAngles {
  const float *row_cos = nullptr, *row_sin = nullptr;        ///< [height, pairs]
  const float *column_cos = nullptr, *column_sin = nullptr;  ///< [width, pairs]
  int width = 0;
  int pairs = 0;  ///< of each axis, a quarter of the channels
};

/// Rotates x [batch, height*width, channels] into out, which may be x.
struct RopeLaunch {
  DataType type = DataType::float32;
  const void* x = nullptr;
  void* out = nullptr;
  TokenStrides x_strides, out_strides;
  const float *row_cos = nullptr, *row_sin = nullptr;        ///< [height, channels/4]
  const float *column_cos = nullptr, *column_sin = nullptr;  ///< [width, channels/4]
  std::int64_t batch = 0, height = 0, width = 0, channels = 0;
  bool inverse = false;
};

/// Throws Failure.
void launch_rope_2d(const RopeLaunch& launch, const Stream& stream);

}  // namespace ttt::ops::cuda
