// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/fast_weight_update/fast_weight_update.h"
#include "kernels/registry.h"
#include "kernels/support/checks.h"

#include <ATen/ATen.h>

namespace ttt::ops {

std::vector<OpCase> fast_weight_update_cases();

namespace {

OpCase make_case(const std::string& note, const std::vector<std::int64_t>& shape,
                 double scale = 1) {
  OpCase result;
  result.name = fmt::format("{} {}", note, shape_text(shape));
  result.inputs = [=](at::ScalarType dtype) {
    std::vector<std::int64_t> row = shape;
    row[row.size() - 2] = 1;
    return std::vector<at::Tensor>{case_tensor("weight", shape, scale).to(dtype),
                                   case_tensor("step", shape, scale).to(dtype),
                                   case_tensor("norms", row).abs_().to(dtype)};
  };
  result.run = [](const std::vector<at::Tensor>& in, Backend backend) {
    return std::vector<at::Tensor>{fast_weight_update(in[0], in[1], in[2], backend)};
  };
  double elements = 1;
  for (const std::int64_t size : shape) elements *= static_cast<double>(size);
  result.elements = 3 * elements;
  result.flops = 4 * elements;
  return result;
}

}  // namespace

std::vector<OpCase> fast_weight_update_cases() {
  std::vector<OpCase> cases{
      make_case("heads", {2, 3, 16, 24}), make_case("tall", {1, 70, 13}),
      make_case("wide", {2, 5, 130}),     make_case("matrix", {12, 16}),
      make_case("one row", {2, 1, 9}),    make_case("one element", {1, 1, 1}),
      make_case("no matrix", {0, 4, 8}),  make_case("small", {2, 8, 12}, 0.1)};
  OpCase zero = make_case("zero", {1, 6, 9}, 0);
  zero.differentiable = false;  // a length has no derivative at zero
  cases.push_back(zero);
  OpCase large = make_case("nvs", {3, 768, 1536});
  large.large = true;
  cases.push_back(large);
  return cases;
}

}  // namespace ttt::ops
