// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// From tensors to the arguments of a launch, for the ops' cuda.cpp. Nothing here links LibTorch's
// CUDA library: streams and the current device come through c10's interface of devices.

#include "kernels/support/cuda_types.h"

#include <ATen/core/Tensor.h>

#include <functional>
#include <string_view>

namespace ttt::ops::cuda {

/// The element type of an activation that `resolve` has let through.
DataType data_type(const at::Tensor& tensor);
/// Strides of [B, N, C].
TokenStrides token_strides(const at::Tensor& tensor);
/// Strides of [B, h, w, C].
GridStrides grid_strides(const at::Tensor& tensor);

/// Calls `body` with the current stream of the tensor's device. A Failure becomes an Error (memory
/// or device) that names the op.
void run_on_stream(std::string_view op, const at::Tensor& tensor,
                   const std::function<void(const Stream&)>& body);

/// The current stream of a device.
Stream current_stream(c10::Device device);

}  // namespace ttt::ops::cuda
