// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/cuda_tensors.h"

#include "core/error.h"

#include <c10/core/DeviceGuard.h>

namespace ttt::ops::cuda {

DataType data_type(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kBFloat16 ? DataType::bfloat16 : DataType::float32;
}

TokenStrides token_strides(const at::Tensor& tensor) {
  return {tensor.stride(0), tensor.stride(1)};
}

GridStrides grid_strides(const at::Tensor& tensor) {
  return {tensor.stride(0), tensor.stride(1), tensor.stride(2)};
}

void run_on_stream(std::string_view op, const at::Tensor& tensor,
                   const std::function<void(const Stream&)>& body) {
  // The launches set the current GPU through a CUDA runtime of their own; this puts it back.
  const c10::DeviceGuard device(tensor.device());
  try {
    body(current_stream(tensor.device()));
  } catch (const Failure& failure) {
    if (failure.out_of_memory())
      throw Error(ErrorKind::memory, failure.what(), std::string(op),
                  "use a smaller batch, or --device cpu");
    throw Error(ErrorKind::device, failure.what(), std::string(op), "use --device cpu");
  }
}

}  // namespace ttt::ops::cuda
