// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear/linear.h"
#include "kernels/registry.h"
#include "kernels/support/checks.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

namespace ttt::ops {

std::vector<OpCase> linear_cases();

namespace {

struct Sizes {
  std::int64_t batch, tokens, in, out;
};

struct Parts {
  LinearActivation activation = LinearActivation::none;
  bool bias = true, residual = false;
  bool float_weight = false;  ///< parameters and residual in the accumulation dtype
  bool strided = false;       ///< x is part of wider rows
  bool norm = false;          ///< rows are normalised; its bias comes with that of the map
};

const char* word(LinearActivation activation) {
  switch (activation) {
    case LinearActivation::relu:
      return " relu";
    case LinearActivation::gelu:
      return " gelu";
    case LinearActivation::gelu_tanh:
      return " gelu tanh";
    case LinearActivation::silu:
      return " silu";
    case LinearActivation::none:
      break;
  }
  return "";
}

OpCase linear_case(const Sizes& s, const Parts& parts) {
  OpCase result;
  result.name =
      fmt::format("{}x{} {}->{}{}{}{}{}{}{}", s.batch, s.tokens, s.in, s.out,
                  word(parts.activation), parts.bias ? "" : " no bias",
                  parts.residual ? " residual" : "", parts.float_weight ? " float weight" : "",
                  parts.strided ? " strided" : "", parts.norm ? " norm" : "");
  result.rounds_factors = parts.float_weight || parts.norm;
  result.inputs = [=](at::ScalarType dtype) {
    const at::ScalarType parameters = parts.float_weight ? accumulation_dtype(dtype) : dtype;
    const std::int64_t extra = parts.strided ? 3 : 0;
    const double scale = 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, s.in)));
    std::vector<at::Tensor> inputs{
        case_tensor("x", {s.batch, s.tokens, s.in + extra}).to(dtype).narrow(2, extra, s.in),
        case_tensor("weight", {s.out, s.in}, scale).to(parameters)};
    if (parts.bias) inputs.push_back(case_tensor("bias", {s.out}).to(parameters));
    if (parts.residual)
      inputs.push_back(case_tensor("residual", {s.batch, s.tokens, s.out}).to(parameters));
    if (parts.norm) inputs.push_back((case_tensor("norm weight", {s.in}, 0.3) + 1).to(parameters));
    if (parts.norm && parts.bias)
      inputs.push_back(case_tensor("norm bias", {s.in}, 0.3).to(parameters));
    return inputs;
  };
  result.run = [=](const std::vector<at::Tensor>& in, Backend backend) {
    std::size_t next = 2;
    const auto take = [&](bool there) { return there ? in[next++] : at::Tensor(); };
    const at::Tensor bias = take(parts.bias);
    LinearFusion fusion{parts.activation, take(parts.residual)};
    fusion.norm = {take(parts.norm), take(parts.norm && parts.bias), 1e-6};
    return std::vector<at::Tensor>{linear(in[0], in[1], bias, fusion, backend)};
  };
  const auto rows = static_cast<double>(s.batch * s.tokens);
  const auto in = static_cast<double>(s.in), out = static_cast<double>(s.out);
  result.flops = 2 * rows * in * out;
  result.elements = rows * (in + (parts.residual ? 2 : 1) * out) + in * out;
  return result;
}

}  // namespace

std::vector<OpCase> linear_cases() {
  std::vector<OpCase> cases;
  const Sizes odd{2, 5, 13, 9};
  for (const LinearActivation activation :
       {LinearActivation::none, LinearActivation::relu, LinearActivation::gelu,
        LinearActivation::gelu_tanh, LinearActivation::silu}) {
    cases.push_back(linear_case(odd, {.activation = activation}));
    cases.push_back(
        linear_case({1, 131, 32, 70},
                    {.activation = activation, .bias = false, .residual = true, .strided = true}));
    cases.push_back(linear_case(
        odd, {.activation = activation, .residual = true, .float_weight = true, .strided = true}));
  }
  for (const Sizes& s : std::initializer_list<Sizes>{{1, 1, 1, 1},
                                                     {1, 1, 64, 1},
                                                     {1, 1, 7, 130},
                                                     {3, 1, 2, 64},
                                                     {0, 4, 5, 6},
                                                     {2, 0, 5, 6},
                                                     {1, 3, 0, 6},
                                                     {1, 3, 5, 0},
                                                     {1, 129, 1600, 3},
                                                     {2, 67, 3, 65}})
    cases.push_back(linear_case(s, {.bias = s.out != 130}));
  cases.push_back(linear_case({1, 4097, 6, 5}, {.activation = LinearActivation::relu}));
  // Not 2: where both elements are nearly the same, their rounded mean decides.
  for (const std::int64_t in : {5, 13, 16, 64, 770})
    cases.push_back(linear_case({2, 67, in, 70}, {.bias = in != 64, .norm = true}));
  cases.push_back(linear_case(
      odd,
      {.activation = LinearActivation::gelu, .residual = true, .strided = true, .norm = true}));
  cases.push_back(
      linear_case({1, 131, 33, 65}, {.float_weight = true, .strided = true, .norm = true}));
  cases.push_back(linear_case({2, 0, 5, 6}, {.norm = true}));
  for (const auto& [s, parts] : std::initializer_list<std::pair<Sizes, Parts>>{
           {{8, 196, 192, 768}, {.activation = LinearActivation::gelu}},
           {{8, 196, 768, 192}, {.residual = true}},
           {{8, 196, 192, 672}, {.norm = true}},
           {{8, 196, 384, 1536}, {.activation = LinearActivation::gelu}},
           {{1, 4096, 384, 384}, {.activation = LinearActivation::silu, .bias = false}},
           {{1, 8, 192, 1000}, {}}}) {
    cases.push_back(linear_case(s, parts));
    cases.back().large = true;
  }
  return cases;
}

}  // namespace ttt::ops
