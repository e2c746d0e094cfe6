// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>

#include <string>
#include <string_view>
#include <vector>

namespace ttt {

/// The device a run uses and one sentence that says why.
struct DeviceChoice {
  c10::Device device{c10::DeviceType::CPU};
  std::string reason;
};

/// Resolves "auto", "cpu", "cuda" or "cuda:N". LibTorch's CUDA library is opened only when a GPU
/// was asked for, or when "auto" sees a GPU driver. Throws Error(usage) for other words and
/// Error(device) when a GPU was demanded and there is none.
DeviceChoice choose_device(std::string_view request);

/// One line per usable device, the CPU first.
std::vector<std::string> list_devices();

}  // namespace ttt
