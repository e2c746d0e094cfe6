// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/backend.h"

namespace ttt::ops::cuda {

c10::DeviceType device_type() {
  return c10::DeviceType::CUDA;
}

}  // namespace ttt::ops::cuda
