// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Checks of what is passed to linear maps, and the forms in which the backends take it. The checks
// throw Error(usage).

#include "kernels/linear/linear.h"
#include "kernels/support/checks.h"

#include <optional>
#include <string_view>
#include <vector>

namespace ttt::ops {

constexpr std::string_view kLinear = "linear";

const OpSupport& linear_support();

/// [..., columns] as [rows, columns] with contiguous rows; a view where strides allow it.
at::Tensor as_rows(const at::Tensor& x);
/// A bias in the accumulation dtype; undefined if it is.
at::Tensor prepared_bias(const at::Tensor& bias, const at::Tensor& x);
std::optional<at::Tensor> as_optional(const at::Tensor& tensor);

std::int64_t row_count(const at::Tensor& x);
std::vector<std::int64_t> result_shape(const at::Tensor& x, std::int64_t out);
at::ScalarType result_dtype(const at::Tensor& x, const LinearFusion& fusion);

void check_parameters(const at::Tensor& weight, const at::Tensor& bias);
void check_input(const at::Tensor& x, std::int64_t in);
/// A tensor of the result's shape, in the dtype of x or in the accumulation dtype.
void check_like_result(std::string_view name, const at::Tensor& tensor, const at::Tensor& x,
                       std::int64_t out);
void check_norm(std::int64_t in, const LinearNorm& norm);
void check_residual(const at::Tensor& x, std::int64_t out, const at::Tensor& residual);
/// A weight may come in the dtype of x or in the accumulation dtype; the backends take both.
void check_weight_dtype(const at::Tensor& weight, const at::Tensor& x);

/// Checks the arguments and chooses the backend.
Backend prepare_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                       const LinearFusion& fusion, Backend requested);

/// x as at::linear takes it under autocast.
at::Tensor linear_autocast(const at::Tensor& x);

}  // namespace ttt::ops
