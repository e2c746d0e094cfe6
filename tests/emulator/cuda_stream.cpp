// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// In place of kernels/support/cuda_stream.cpp: emulated kernels run on CPU tensors, at once.
#include "kernels/support/backend.h"
#include "kernels/support/cuda_tensors.h"

namespace ttt::ops::cuda {

Stream current_stream(c10::Device) {
  return {};
}

c10::DeviceType device_type() {
  return c10::DeviceType::CPU;
}

}  // namespace ttt::ops::cuda
