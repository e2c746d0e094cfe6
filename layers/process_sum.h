// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace ttt::layers {

/// Replaces a tensor by its sum over the processes of a parallel run.
using SumOverProcesses = std::function<void(const at::Tensor&)>;

/// The sum as a new tensor, differentiable: what every process' loss says about the sum reaches
/// each of its terms, by the same sum in the backward pass.
at::Tensor sum_over_processes(const at::Tensor& x, const SumOverProcesses& sum);

}  // namespace ttt::layers
