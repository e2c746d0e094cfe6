// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/backend.h"
#include "kernels/support/cuda_tensors.h"

#include <c10/core/impl/VirtualGuardImpl.h>

namespace ttt::ops::cuda {

Stream current_stream(c10::Device device) {
  const c10::impl::VirtualGuardImpl devices(device.type());
  return {devices.getStreamNativeHandle(devices.getStream(device)), device.index()};
}

c10::DeviceType device_type() {
  return c10::DeviceType::CUDA;
}

}  // namespace ttt::ops::cuda
