// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/fast_weight_update/cuda.h"

#include "kernels/fast_weight_update/backends.h"
#include "kernels/support/cuda_tensors.h"

#include <ATen/ops/empty_like.h>

namespace ttt::ops::cuda {
namespace {

constexpr std::string_view kOp = "fast_weight_update";

}  // namespace

std::vector<at::ScalarType> fast_weight_update_dtypes() {
  return {at::kFloat, at::kBFloat16};
}

at::Tensor fast_weight_update(const at::Tensor& weight, const at::Tensor& step,
                              const at::Tensor& norms) {
  at::Tensor out = at::empty_like(weight);
  FastWeightUpdateLaunch launch;
  launch.batch = weight.size(0);
  launch.rows = weight.size(1);
  launch.columns = weight.size(2);
  launch.weight = weight.const_data_ptr<float>();
  launch.step = step.const_data_ptr<float>();
  launch.norms = norms.const_data_ptr<float>();
  launch.out = out.mutable_data_ptr<float>();
  run_on_stream(kOp, weight,
                [&](const Stream& stream) { launch_fast_weight_update(launch, stream); });
  return out;
}

FastWeightUpdateGradients fast_weight_update_backward(const at::Tensor& sum,
                                                      const at::Tensor& norms,
                                                      const at::Tensor& dout) {
  FastWeightUpdateGradients result{at::empty_like(sum), at::empty_like(norms)};
  FastWeightUpdateBackwardLaunch launch;
  launch.batch = sum.size(0);
  launch.rows = sum.size(1);
  launch.columns = sum.size(2);
  launch.sum = sum.const_data_ptr<float>();
  launch.norms = norms.const_data_ptr<float>();
  launch.dout = dout.const_data_ptr<float>();
  launch.dsum = result.dsum.mutable_data_ptr<float>();
  launch.dnorms = result.dnorms.mutable_data_ptr<float>();
  run_on_stream(kOp, sum,
                [&](const Stream& stream) { launch_fast_weight_update_backward(launch, stream); });
  return result;
}

}  // namespace ttt::ops::cuda
