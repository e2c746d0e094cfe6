// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/newton_schulz/newton_schulz.h"
#include "kernels/registry.h"
#include "kernels/support/checks.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace ttt::ops {

std::vector<OpCase> newton_schulz_cases();

namespace {

OpCase make_case(const std::string& note, std::vector<std::int64_t> shape,
                 std::vector<NewtonSchulzStep> steps, double scale = 1) {
  OpCase result;
  result.name = fmt::format("{} {} {} steps", note, shape_text(shape), steps.size());
  result.inputs = [=](at::ScalarType dtype) {
    return std::vector<at::Tensor>{case_tensor("g", shape, scale).to(dtype)};
  };
  result.run = [=](const std::vector<at::Tensor>& in, Backend backend) {
    return std::vector<at::Tensor>{newton_schulz(in[0], {steps, false}, backend)};
  };
  const std::size_t last = shape.size() - 1;
  const auto m = static_cast<double>(std::min(shape[last], shape[last - 1]));
  const auto n = static_cast<double>(std::max(shape[last], shape[last - 1]));
  double batch = 1;
  for (std::size_t i = 0; i + 2 < shape.size(); ++i) batch *= static_cast<double>(shape[i]);
  // Half of X X^T and of its square, which are symmetric, and the whole of Q X.
  result.flops = batch * static_cast<double>(steps.size()) * (3 * m * m * n + m * m * m);
  result.elements = 2 * batch * m * n;
  return result;
}

/// Rounds factors to bfloat16 for bfloat16 gradients, which have no more digits to lose.
OpCase model_case(const std::string& note, const std::vector<std::int64_t>& shape,
                  const std::vector<NewtonSchulzStep>& steps) {
  OpCase result = make_case(note, shape, steps);
  result.large = true;
  result.rounds_factors = true;
  result.run = [=](const std::vector<at::Tensor>& in, Backend backend) {
    const bool bf16 = in[0].scalar_type() == at::kBFloat16;
    return std::vector<at::Tensor>{newton_schulz(in[0], {steps, bf16}, backend)};
  };
  return result;
}

}  // namespace

std::vector<OpCase> newton_schulz_cases() {
  const auto repeated = newton_schulz_repeated(5), five = newton_schulz_five();
  std::vector<OpCase> cases{
      make_case("wide", {2, 12, 20}, repeated),
      make_case("wide", {2, 12, 20}, five),
      make_case("tall", {3, 24, 10}, repeated),
      make_case("tall", {1, 35, 20}, five),
      make_case("square", {2, 9, 9}, five),
      make_case("row", {1, 1, 7}, repeated),
      make_case("norm only", {2, 12, 20}, {}),
      make_case("heads", {2, 3, 10, 12}, five),
      make_case("large scale", {2, 8, 12}, five, 1e3),
      make_case("small scale", {2, 8, 12}, five, 0.05),
      make_case("blocks", {1, 70, 130}, newton_schulz_repeated(1)),
      make_case("no matrix", {0, 4, 8}, five),
  };
  OpCase zero = make_case("zero", {1, 6, 9}, repeated, 0);
  zero.differentiable = false;  // the norm has no derivative at zero
  cases.push_back(zero);
  OpCase element = make_case("one element", {1, 1, 1}, five);
  element.differentiable = false;  // it doesn't depend on the element
  cases.push_back(element);
  for (const std::int64_t width : {384, 512, 768, 1024})
    cases.push_back(model_case("one head", {3, width, 2 * width}, repeated));
  cases.push_back(model_case("heads", {36, 64, 128}, five));
  cases.push_back(model_case("heads", {18, 128, 256}, five));
  return cases;
}

}  // namespace ttt::ops
