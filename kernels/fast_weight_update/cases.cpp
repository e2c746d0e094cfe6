// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/fast_weight_update/fast_weight_update.h"
#include "kernels/newton_schulz/newton_schulz.h"
#include "kernels/registry.h"
#include "kernels/support/checks.h"
#include "kernels/swiglu_fast_weights/swiglu_fast_weights.h"

#include <ATen/ATen.h>

#include <cmath>

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

/// The new weights of a LaCT-LVSM layer after one chunk of tokens, as layers/lact computes them:
/// gradient, Newton-Schulz, and the update.
std::vector<at::Tensor> chunk_update(const std::vector<at::Tensor>& in, Backend backend) {
  const SwigluMatrices weights{in[3], in[4], in[5]};
  const SwigluMatrices g = swiglu_gradient(in[0], in[1], in[2], weights, backend);
  const bool bf16 = in[0].scalar_type() == at::kBFloat16;
  const auto updated = [&](const at::Tensor& weight, const at::Tensor& gradient,
                           const at::Tensor& norms) {
    const at::Tensor step = newton_schulz(gradient, {newton_schulz_repeated(5), bf16}, backend);
    return fast_weight_update(weight, step, norms, backend);
  };
  return {updated(weights.w0, g.w0, in[6]), updated(weights.w1, g.w1, in[7]),
          updated(weights.w2, g.w2, in[8])};
}

OpCase chunk_case(std::int64_t tokens, std::int64_t width) {
  OpCase result;
  const std::int64_t hidden = 2 * width;
  result.name = fmt::format("chunk n{} heads1 d{} h{}", tokens, width, hidden);
  result.inputs = [=](at::ScalarType dtype) {
    const at::ScalarType state = dtype == at::kBFloat16 ? at::kFloat : dtype;
    const double wide = 1 / std::sqrt(static_cast<double>(width)), high = wide / std::sqrt(2.0);
    const at::Tensor w0 = case_tensor("w0", {1, 1, width, hidden}, wide).to(state);
    const at::Tensor w1 = case_tensor("w1", {1, 1, hidden, width}, high).to(state);
    const at::Tensor w2 = case_tensor("w2", {1, 1, width, hidden}, wide).to(state);
    return std::vector<at::Tensor>{
        case_tensor("k", {1, tokens, width}).to(dtype),
        case_tensor("v", {1, tokens, width}).to(dtype),
        case_tensor("rates", {1, tokens, 3, 1}).exp_().mul_(0.1).to(state),
        w0,
        w1,
        w2,
        fast_weight_norms(w0),
        fast_weight_norms(w1),
        fast_weight_norms(w2)};
  };
  result.run = chunk_update;
  result.large = true;
  result.rounds_factors = true;
  const auto n = static_cast<double>(tokens), d = static_cast<double>(width);
  const auto h = static_cast<double>(hidden);
  // The gradient, and five iterations on three matrices (see newton_schulz).
  result.flops = 12 * n * d * h + 15 * (3 * d * d * h + d * d * d);
  result.elements = 2 * n * d + 6 * d * h;
  return result;
}

}  // namespace

std::vector<OpCase> fast_weight_update_cases() {
  std::vector<OpCase> cases{
      make_case("heads", {2, 3, 16, 24}), make_case("tall", {1, 70, 13}),
      make_case("wide", {2, 5, 130}),     make_case("samples", {3, 12, 16}),
      make_case("one row", {2, 1, 9}),    make_case("one element", {1, 1, 1}),
      make_case("no matrix", {0, 4, 8}),  make_case("small", {2, 8, 12}, 0.1)};
  OpCase zero = make_case("zero", {1, 6, 9}, 0);
  zero.differentiable = false;  // a length has no derivative at zero
  cases.push_back(zero);
  OpCase large = make_case("nvs", {3, 768, 1536});
  large.large = true;
  cases.push_back(large);
  for (const std::int64_t width : {384, 512, 768, 1024}) cases.push_back(chunk_case(2048, width));
  return cases;
}

}  // namespace ttt::ops
