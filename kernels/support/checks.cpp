// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/checks.h"

#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace ttt::ops {

std::string shape_text(at::IntArrayRef shape) {
  return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ", "));
}

std::string shape_text(const at::Tensor& tensor) {
  return tensor.defined() ? shape_text(tensor.sizes()) : "undefined";
}

void check_shape(std::string_view op, std::string_view name, const at::Tensor& tensor,
                 std::initializer_list<std::int64_t> shape) {
  const bool matches =
      tensor.defined() && tensor.dim() == static_cast<std::int64_t>(shape.size()) &&
      std::equal(shape.begin(), shape.end(), tensor.sizes().begin(),
                 [](std::int64_t want, std::int64_t have) { return want < 0 || want == have; });
  TTT_CHECK(matches, usage,
            fmt::format("{} is {}, but {} is needed (-1: any)", name, shape_text(tensor),
                        shape_text(at::IntArrayRef(shape))),
            std::string(op), "pass tensors of the documented shapes");
}

void check_same_dtype(std::string_view op, std::string_view name, const at::Tensor& tensor,
                      const at::Tensor& like) {
  TTT_CHECK(tensor.scalar_type() == like.scalar_type(), usage,
            fmt::format("{} is {}, but {} is needed", name, c10::toString(tensor.scalar_type()),
                        c10::toString(like.scalar_type())),
            std::string(op), "convert the tensors to one dtype");
}

void check_output(std::string_view op, const at::Tensor& out,
                  std::initializer_list<at::Tensor> inputs) {
  TTT_CHECK(out.numel() == 0 || out.size(-1) <= 1 || out.stride(-1) == 1, usage,
            fmt::format("the output's last dimension has stride {}", out.stride(-1)),
            std::string(op), "pass an output whose last dimension is contiguous");
  TTT_CHECK(at::has_internal_overlap(out) != at::MemOverlap::Yes, usage,
            "elements of the output share memory", std::string(op), "pass an output of its own");
  TTT_CHECK(!needs_gradient(inputs) && !needs_gradient({out}), usage,
            "an op that writes into a given output records no gradients", std::string(op),
            "use the form that returns its result, or at::NoGradGuard");
}

void check_apart(std::string_view op, const at::Tensor& out,
                 std::initializer_list<at::Tensor> inputs) {
  for (const at::Tensor& input : inputs) {
    if (!input.defined()) continue;
    const at::MemOverlapStatus status = at::get_overlap_status(out, input);
    TTT_CHECK(status != at::MemOverlapStatus::Full && status != at::MemOverlapStatus::Partial,
              usage, "the output shares memory with an input", std::string(op),
              "pass an output of its own");
  }
}

at::Tensor with_contiguous_rows(const at::Tensor& tensor) {
  const bool contiguous = tensor.dim() == 0 || tensor.size(-1) <= 1 || tensor.stride(-1) == 1;
  return contiguous ? tensor : tensor.contiguous();
}

bool needs_gradient(std::initializer_list<at::Tensor> tensors) {
  return at::GradMode::is_enabled() &&
         std::any_of(tensors.begin(), tensors.end(), [](const at::Tensor& tensor) {
           return tensor.defined() && tensor.requires_grad();
         });
}

void refuse_second_derivative(std::string_view op) {
  TTT_CHECK(!at::GradMode::is_enabled(), unsupported, "second derivatives are not implemented",
            std::string(op), "take the gradient without create_graph");
}

at::ScalarType accumulation_dtype(at::ScalarType dtype) {
  return dtype == at::kDouble ? at::kDouble : at::kFloat;
}

at::Tensor to_accumulation_dtype(std::string_view op, std::string_view name,
                                 const at::Tensor& parameter, const at::Tensor& like) {
  const at::ScalarType wanted = accumulation_dtype(like.scalar_type());
  if (parameter.scalar_type() != wanted) check_same_dtype(op, name, parameter, like);
  return parameter.to(wanted);
}

at::Tensor parameter_gradient(const at::Tensor& gradient, const at::Tensor& parameter) {
  return at::sum_to(gradient, parameter.sizes())
      .to(parameter.scalar_type())
      .clone(at::MemoryFormat::Contiguous);
}

}  // namespace ttt::ops
