// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/registry.h"
#include "kernels/support/checks.h"
#include "kernels/swiglu_fast_weights/swiglu_fast_weights.h"

#include <ATen/ATen.h>

#include <cmath>

namespace ttt::ops {

std::vector<OpCase> swiglu_fast_weights_cases();

namespace {

struct Sizes {
  std::int64_t batch, tokens, heads, width, hidden;
};

struct Variant {
  std::string note;
  double key_scale = 1;
  double value_scale = 1;
  bool shared_weights = true;  ///< weights [1, ...], else one set per sample
  bool transposed = false;     ///< the last dimension of the activations isn't contiguous
  bool float_state = false;    ///< weights and rates stay float, as in the layers
};

std::string label(const char* call, const Sizes& s, const Variant& variant) {
  return fmt::format("{} b{} n{} heads{} d{} h{}{}", call, s.batch, s.tokens, s.heads, s.width,
                     s.hidden, variant.note.empty() ? "" : " " + variant.note);
}

/// A slice of a wider tensor, as the projections give it.
at::Tensor activations(const char* name, const Sizes& s, const Variant& variant, double scale,
                       at::ScalarType dtype) {
  const std::int64_t channels = s.heads * s.width;
  if (variant.transposed)
    return case_tensor(name, {s.batch, channels, s.tokens}, scale).to(dtype).transpose(1, 2);
  return case_tensor(name, {s.batch, s.tokens, channels + 6}, scale)
      .to(dtype)
      .narrow(2, 4, channels);
}

at::ScalarType state_dtype(const Variant& variant, at::ScalarType activations) {
  return variant.float_state && activations == at::kBFloat16 ? at::kFloat : activations;
}

at::Tensor rates(const Sizes& s, const Variant& variant, at::ScalarType dtype) {
  return case_tensor("rates", {s.batch, s.tokens, 3, s.heads})
      .exp_()
      .mul_(0.1)
      .to(state_dtype(variant, dtype));
}

/// Scaled as the layer initialises them.
std::vector<at::Tensor> weights(const Sizes& s, const Variant& variant,
                                at::ScalarType activations) {
  const at::ScalarType dtype = state_dtype(variant, activations);
  const std::int64_t batch = variant.shared_weights ? 1 : s.batch;
  const double wide = 1 / std::sqrt(static_cast<double>(s.width));
  const double high = 1 / std::sqrt(static_cast<double>(s.hidden));
  return {case_tensor("w0", {batch, s.heads, s.width, s.hidden}, wide).to(dtype),
          case_tensor("w1", {batch, s.heads, s.hidden, s.width}, high).to(dtype),
          case_tensor("w2", {batch, s.heads, s.width, s.hidden}, wide).to(dtype)};
}

double multiply_adds(const Sizes& s) {
  return static_cast<double>(s.batch * s.tokens * s.heads) * static_cast<double>(s.width) *
         static_cast<double>(s.hidden);
}

OpCase gradient_case(const Sizes& s, const Variant& variant = {}) {
  OpCase result;
  result.name = label("gradient", s, variant);
  result.inputs = [=](at::ScalarType dtype) {
    std::vector<at::Tensor> in{activations("k", s, variant, variant.key_scale, dtype),
                               activations("v", s, variant, variant.value_scale, dtype),
                               rates(s, variant, dtype)};
    for (const at::Tensor& weight : weights(s, variant, dtype)) in.push_back(weight);
    return in;
  };
  result.run = [](const std::vector<at::Tensor>& in, Backend backend) {
    const SwigluMatrices sums =
        swiglu_gradient(in[0], in[1], in[2], {in[3], in[4], in[5]}, backend);
    return std::vector<at::Tensor>{sums.w0, sums.w1, sums.w2};
  };
  result.rounds_factors = true;
  result.flops = 12 * multiply_adds(s);
  result.elements = 2 * static_cast<double>(s.batch * s.tokens * s.heads * s.width);
  return result;
}

OpCase apply_case(const Sizes& s, const Variant& variant = {}) {
  OpCase result;
  result.name = label("apply", s, variant);
  result.inputs = [=](at::ScalarType dtype) {
    std::vector<at::Tensor> in{activations("q", s, variant, variant.key_scale, dtype)};
    for (const at::Tensor& weight : weights(s, variant, dtype)) in.push_back(weight);
    return in;
  };
  result.run = [](const std::vector<at::Tensor>& in, Backend backend) {
    return std::vector<at::Tensor>{swiglu_apply(in[0], {in[1], in[2], in[3]}, backend)};
  };
  result.rounds_factors = true;
  result.flops = 6 * multiply_adds(s);
  result.elements = 2 * static_cast<double>(s.batch * s.tokens * s.heads * s.width);
  return result;
}

/// Into a slice of a wider tensor, whose rest must stay as it was.
OpCase apply_out_case(const Sizes& s) {
  OpCase result = apply_case(s);
  result.name = label("apply_out", s, {});
  result.differentiable = false;
  result.run = [](const std::vector<at::Tensor>& in, Backend backend) {
    const at::Tensor& q = in[0];
    const at::Tensor wide = at::ones({q.size(0), q.size(1), q.size(2) + 6}, q.options());
    swiglu_apply_out(q, {in[1], in[2], in[3]}, wide.narrow(2, 2, q.size(2)), backend);
    return std::vector<at::Tensor>{wide};
  };
  return result;
}

/// A chunk in two parts.
OpCase gradient_add_case(const Sizes& s) {
  OpCase result = gradient_case(s);
  result.name = label("gradient_add", s, {});
  result.differentiable = false;
  result.run = [](const std::vector<at::Tensor>& in, Backend backend) {
    const SwigluMatrices weights{in[3], in[4], in[5]};
    const std::int64_t tokens = in[0].size(1);
    const auto zeros = [&](const at::Tensor& weight) {
      const auto dtype = in[0].scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
      return at::zeros({in[0].size(0), weight.size(1), weight.size(2), weight.size(3)},
                       weight.options().dtype(dtype));
    };
    const SwigluMatrices sums{zeros(in[3]), zeros(in[4]), zeros(in[5])};
    const std::int64_t half = tokens / 2;
    for (const auto& [begin, count] :
         {std::pair<std::int64_t, std::int64_t>{0, half}, {half, tokens - half}})
      swiglu_gradient_add(in[0].narrow(1, begin, count), in[1].narrow(1, begin, count),
                          in[2].narrow(1, begin, count), weights, sums, backend);
    return std::vector<at::Tensor>{sums.w0, sums.w1, sums.w2};
  };
  return result;
}

}  // namespace

std::vector<OpCase> swiglu_fast_weights_cases() {
  std::vector<OpCase> cases;
  for (const Sizes& s : std::initializer_list<Sizes>{{2, 12, 2, 16, 32},
                                                     {1, 1, 1, 16, 24},
                                                     {2, 37, 1, 24, 12},
                                                     {1, 70, 2, 16, 16},
                                                     {1, 9, 3, 13, 29},
                                                     {1, 5, 1, 1, 1},
                                                     {1, 9, 1, 66, 130},
                                                     {0, 4, 2, 8, 8},
                                                     {2, 0, 2, 8, 8},
                                                     {1, 530, 1, 4, 6}}) {
    cases.push_back(gradient_case(s));
    cases.push_back(apply_case(s));
  }
  const Sizes odd{2, 11, 2, 24, 40};
  cases.push_back(gradient_case(odd, {.note = "transposed", .transposed = true}));
  cases.push_back(apply_case(odd, {.note = "transposed", .transposed = true}));
  cases.push_back(gradient_case(odd, {.note = "own weights", .shared_weights = false}));
  cases.push_back(apply_case(odd, {.note = "own weights", .shared_weights = false}));
  cases.push_back(gradient_case(odd, {.note = "zero v", .value_scale = 0}));
  OpCase huge = gradient_case(odd, {.note = "huge k", .key_scale = 1e3});
  huge.differentiable = false;  // the sigmoids are steps
  cases.push_back(huge);
  cases.push_back(apply_out_case({2, 7, 3, 20, 12}));
  cases.push_back(gradient_add_case({2, 19, 2, 12, 20}));
  // One head as in LaCT-LVSM, and many as in the minimal layers.
  for (const Sizes& s : std::initializer_list<Sizes>{{1, 2048, 1, 384, 768},
                                                     {1, 2048, 1, 512, 1024},
                                                     {1, 2048, 1, 768, 1536},
                                                     {1, 2048, 1, 1024, 2048},
                                                     {2, 600, 3, 64, 256},
                                                     {1, 2048, 12, 64, 128},
                                                     {1, 2048, 6, 128, 256}}) {
    const Variant variant{.float_state = true};
    for (OpCase large : {gradient_case(s, variant), apply_case(s, variant)}) {
      large.large = true;
      cases.push_back(large);
    }
  }
  return cases;
}

}  // namespace ttt::ops
