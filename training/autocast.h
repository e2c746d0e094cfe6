// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/DeviceType.h>
#include <c10/core/ScalarType.h>

namespace ttt::training {

/// While it lives, matrix products and convolutions of float tensors run in a narrower type, the
/// parameters staying float (LibTorch's autocast). float32 switches autocast off.
class AutocastGuard {
 public:
  AutocastGuard(c10::DeviceType device, c10::ScalarType dtype);
  ~AutocastGuard();
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  c10::DeviceType device_;
  c10::ScalarType previous_dtype_;
  bool previous_;
};

}  // namespace ttt::training
