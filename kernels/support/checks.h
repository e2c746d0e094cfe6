// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/error.h"

#include <ATen/core/Tensor.h>
#include <spdlog/fmt/fmt.h>

#include <initializer_list>
#include <string>
#include <string_view>

namespace ttt::ops {

/// "[2, 196, 192]", for messages.
std::string shape_text(const at::Tensor& tensor);
std::string shape_text(at::IntArrayRef shape);

/// Throws Error(usage) unless the tensor is defined and has this shape; -1 matches any size.
void check_shape(std::string_view op, std::string_view name, const at::Tensor& tensor,
                 std::initializer_list<std::int64_t> shape);
/// Throws Error(usage) unless both tensors have one dtype.
void check_same_dtype(std::string_view op, std::string_view name, const at::Tensor& tensor,
                      const at::Tensor& like);
/// Throws Error(usage) unless `out` can be written row by row: contiguous last dimension and no two
/// elements in one place. Also refuses gradients, which an op that writes into `out` can't record.
void check_output(std::string_view op, const at::Tensor& out,
                  std::initializer_list<at::Tensor> inputs);

/// Throws Error(usage) where `out` lies in the memory of an input, as far as that can be told: of
/// slices with gaps it can't.
void check_apart(std::string_view op, const at::Tensor& out,
                 std::initializer_list<at::Tensor> inputs);

/// The tensor itself if its last dimension is contiguous, else a contiguous copy.
at::Tensor with_contiguous_rows(const at::Tensor& tensor);

/// True when gradients of any of these tensors have to be recorded.
bool needs_gradient(std::initializer_list<at::Tensor> tensors);

/// Throws Error(unsupported) inside a backward pass that is itself recorded: our backward passes
/// have no second derivatives, and returning none would be silently wrong.
void refuse_second_derivative(std::string_view op);

/// The dtype in which an op accumulates and keeps small states: float, or double for double.
at::ScalarType accumulation_dtype(at::ScalarType dtype);

/// A parameter in the accumulation dtype of the activations `like`. Throws Error(usage) unless it
/// has that dtype or the activations' own.
at::Tensor to_accumulation_dtype(std::string_view op, std::string_view name,
                                 const at::Tensor& parameter, const at::Tensor& like);

/// A gradient in accumulation dtype as the gradient of this parameter: summed over the samples that
/// share it, in its shape and dtype, contiguous, in memory of its own.
at::Tensor parameter_gradient(const at::Tensor& gradient, const at::Tensor& parameter);

}  // namespace ttt::ops
