// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace ttt::cli {

/// The rate of the fastest matrix product that LibTorch offers on a device in a type, with the
/// threads in use when it is made.
class Roofline {
 public:
  /// Tries libraries and shapes, and keeps the fastest.
  Roofline(c10::Device device, at::ScalarType dtype);
  /// Measures again, so that the rate is that of the moments around a subject: the speed of shared
  /// machines changes.
  void sample();
  void forget() { rates_.clear(); }
  /// GFLOP/s, the median of the samples.
  double gflops() const;

 private:
  std::function<void()> product_;
  double operations_ = 0;
  std::vector<double> rates_;
};

}  // namespace ttt::cli
