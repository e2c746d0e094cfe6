// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/support/backend.h"

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ttt::ops {

/// One call of an op with made-up tensors, the same on every machine.
struct OpCase {
  std::string name;
  /// The inputs in this dtype, on the CPU; those that are differentiable are floating point.
  std::function<std::vector<at::Tensor>(at::ScalarType)> inputs;
  /// Inputs to outputs, through the public function, on the asked backend.
  std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&, Backend)> run;
  /// A size from a real model: for benchmarks. The others are small and odd: for tests.
  bool large = false;
  /// The op is smooth enough around the inputs for finite differences, and has gradients.
  bool differentiable = true;
  /// Float results of bfloat16 activations have bfloat16's precision: the products' factors are
  /// rounded to it.
  bool rounds_factors = false;
  /// Iterations in which that happens, each of which works on the rounded result of the last.
  int roundings = 1;
  /// Every implementation rounds what its sums read to the activations' type first.
  bool rounds_inputs = false;
  double flops = 0;     ///< floating-point operations of the forward pass
  double elements = 0;  ///< elements read and written by an ideal forward pass
};

/// One op of the library.
struct Op {
  std::string_view name;
  const OpSupport& (*support)();
  std::vector<OpCase> (*cases)();
};

/// All ops, one entry per folder. Tests, self-test and benchmarks loop over it.
const std::vector<Op>& registry();

/// Normally distributed values times `scale`, a function of name and shape alone; double.
at::Tensor case_tensor(std::string_view name, at::IntArrayRef shape, double scale = 1.0);

/// A copy on another device with the same strides, in a storage of the same size; cases make their
/// inputs on the CPU.
at::Tensor case_on_device(const at::Tensor& tensor, c10::Device device);

}  // namespace ttt::ops
