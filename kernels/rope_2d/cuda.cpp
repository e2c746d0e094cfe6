// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/rope_2d/cuda.h"

#include "kernels/rope_2d/backends.h"
#include "kernels/support/cuda_tensors.h"

namespace ttt::ops::cuda {

std::vector<at::ScalarType> rope_2d_dtypes() {
  return {at::kFloat, at::kBFloat16};
}

void rope_2d(const at::Tensor& x, const RopeTable& table, bool inverse, const at::Tensor& out) {
  RopeLaunch launch;
  launch.type = data_type(x);
  launch.x = x.const_data_ptr();
  launch.out = out.mutable_data_ptr();
  launch.x_strides = token_strides(x);
  launch.out_strides = token_strides(out);
  launch.row_cos = table.row_cos.const_data_ptr<float>();
  launch.row_sin = table.row_sin.const_data_ptr<float>();
  launch.column_cos = table.column_cos.const_data_ptr<float>();
  launch.column_sin = table.column_sin.const_data_ptr<float>();
  launch.batch = x.size(0);
  launch.height = table.height();
  launch.width = table.width();
  launch.channels = table.channels();
  launch.inverse = inverse;
  run_on_stream("rope_2d", x, [&](const Stream& stream) { launch_rope_2d(launch, stream); });
}

}  // namespace ttt::ops::cuda
