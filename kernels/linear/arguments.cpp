// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear/arguments.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <c10/util/accumulate.h>

namespace ttt::ops {
namespace {

constexpr std::string_view kOp = kLinear;

}  // namespace

at::Tensor as_rows(const at::Tensor& x) {
  if (x.dim() == 2) return with_contiguous_rows(x);
  return with_contiguous_rows(x.reshape({row_count(x), x.size(-1)}));
}

std::int64_t row_count(const at::Tensor& x) {
  return c10::multiply_integers(x.sizes().slice(0, static_cast<std::size_t>(x.dim() - 1)));
}

at::Tensor prepared_bias(const at::Tensor& bias, const at::Tensor& x) {
  return bias.defined() ? to_accumulation_dtype(kOp, "bias", bias, x).contiguous() : bias;
}

std::optional<at::Tensor> as_optional(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

std::vector<std::int64_t> result_shape(const at::Tensor& x, std::int64_t out) {
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.back() = out;
  return shape;
}

at::ScalarType result_dtype(const at::Tensor& x, const LinearFusion& fusion) {
  return fusion.residual.defined() ? fusion.residual.scalar_type() : x.scalar_type();
}

void check_parameters(const at::Tensor& weight, const at::Tensor& bias) {
  check_shape(kOp, "weight", weight, {-1, -1});
  if (bias.defined()) check_shape(kOp, "bias", bias, {weight.size(0)});
}

void check_input(const at::Tensor& x, std::int64_t in) {
  TTT_CHECK(x.defined() && x.dim() >= 1 && x.size(-1) == in, usage,
            fmt::format("x is {}, but [..., {}] is needed", shape_text(x), in), std::string(kOp),
            "pass activations as wide as the weight");
}

void check_like_result(std::string_view name, const at::Tensor& tensor, const at::Tensor& x,
                       std::int64_t out) {
  const std::vector<std::int64_t> shape = result_shape(x, out);
  TTT_CHECK(tensor.sizes() == at::IntArrayRef(shape), usage,
            fmt::format("{} is {}, but {} is needed", name, shape_text(tensor),
                        shape_text(at::IntArrayRef(shape))),
            std::string(kOp), "pass tensors of the documented shapes");
  if (tensor.scalar_type() != accumulation_dtype(x.scalar_type()))
    check_same_dtype(kOp, name, tensor, x);
}

void check_norm(std::int64_t in, const LinearNorm& norm) {
  if (!norm.defined()) return;
  check_shape(kOp, "norm weight", norm.weight, {in});
  if (norm.bias.defined()) check_shape(kOp, "norm bias", norm.bias, {in});
  TTT_CHECK(norm.epsilon > 0, usage, "the norm's epsilon is not positive", std::string(kOp),
            "pass a small positive number");
}

void check_residual(const at::Tensor& x, std::int64_t out, const at::Tensor& residual) {
  if (residual.defined()) check_like_result("residual", residual, x, out);
}

void check_weight_dtype(const at::Tensor& weight, const at::Tensor& x) {
  if (weight.scalar_type() != accumulation_dtype(x.scalar_type()))
    check_same_dtype(kOp, "weight", weight, x);
}

Backend prepare_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                       const LinearFusion& fusion, Backend requested) {
  check_parameters(weight, bias);
  check_input(x, weight.size(1));
  check_residual(x, weight.size(0), fusion.residual);
  check_norm(weight.size(1), fusion.norm);
  check_weight_dtype(weight, x);
  return resolve(linear_support(), requested,
                 {x, weight, bias, fusion.residual, fusion.norm.weight, fusion.norm.bias});
}

at::Tensor linear_autocast(const at::Tensor& x) {
  if (!x.defined() || !at::autocast::is_autocast_enabled(x.device().type())) return x;
  const c10::DeviceType device = x.device().type();
  return at::autocast::cached_cast(at::autocast::get_autocast_dtype(device), x, device);
}

}  // namespace ttt::ops
