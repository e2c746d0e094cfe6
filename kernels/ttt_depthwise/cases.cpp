// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/registry.h"
#include "kernels/support/checks.h"
#include "kernels/ttt_depthwise/ttt_depthwise.h"

#include <ATen/ATen.h>

namespace ttt::ops {

std::vector<OpCase> ttt_depthwise_cases();

namespace {

struct Sizes {
  std::int64_t batch, height, width, d;
};

std::string label(const char* call, const Sizes& s) {
  return fmt::format("{} b{} {}x{} d{}", call, s.batch, s.height, s.width, s.d);
}

/// A slice of a wider tensor, as the parts of the qkv projection are.
at::Tensor activations(const char* name, const Sizes& s, double scale, at::ScalarType dtype) {
  return case_tensor(name, {s.batch, s.height, s.width, s.d + 7}, scale)
      .to(dtype)
      .narrow(3, 5, s.d);
}

void set_cost(OpCase& result, const Sizes& s) {
  const double grid = static_cast<double>(s.batch * s.height * s.width * s.d);
  result.flops = 18 * grid;
  result.elements = 2 * grid;
}

OpCase step_case(const Sizes& s, double value_scale = 1) {
  OpCase result;
  result.name = label("step", s) + (value_scale == 0 ? " zero v" : "");
  result.inputs = [=](at::ScalarType dtype) {
    return std::vector<at::Tensor>{
        activations("k", s, 1, dtype), activations("v", s, value_scale, dtype),
        case_tensor("w3", {s.d, 1, 3, 3}, 0.3).to(accumulation_dtype(dtype))};
  };
  result.run = [](const std::vector<at::Tensor>& in, Backend backend) {
    return std::vector<at::Tensor>{depthwise_step(in[0], in[1], in[2], backend)};
  };
  set_cost(result, s);
  return result;
}

OpCase apply_case(const Sizes& s) {
  OpCase result;
  result.name = label("apply", s);
  result.inputs = [=](at::ScalarType dtype) {
    return std::vector<at::Tensor>{
        activations("q", s, 1, dtype),
        case_tensor("kernels", {s.batch, 3, 3, s.d}, 0.3).to(accumulation_dtype(dtype))};
  };
  result.run = [](const std::vector<at::Tensor>& in, Backend backend) {
    return std::vector<at::Tensor>{depthwise_apply(in[0], in[1], backend)};
  };
  set_cost(result, s);
  return result;
}

/// The form that writes into a slice of a wider tensor; the rest of it must stay as it was.
OpCase apply_out_case(const Sizes& s) {
  OpCase result = apply_case(s);
  result.name = label("apply_out", s);
  result.differentiable = false;
  result.run = [](const std::vector<at::Tensor>& in, Backend backend) {
    const at::Tensor& q = in[0];
    const std::int64_t d = q.size(3);
    const at::Tensor wide = at::ones({q.size(0), q.size(1), q.size(2), d + 9}, q.options());
    depthwise_apply_out(q, in[1], wide.narrow(3, 3, d), backend);
    return std::vector<at::Tensor>{wide};
  };
  return result;
}

}  // namespace

std::vector<OpCase> ttt_depthwise_cases() {
  std::vector<OpCase> cases;
  for (const Sizes& s : std::initializer_list<Sizes>{{2, 3, 4, 16},
                                                     {1, 1, 1, 8},
                                                     {1, 1, 9, 32},
                                                     {2, 5, 1, 13},
                                                     {3, 7, 6, 72},
                                                     {1, 2, 2, 1},
                                                     {0, 3, 3, 8},
                                                     {2, 0, 3, 8},
                                                     {1, 45, 47, 8}}) {
    cases.push_back(step_case(s));
    cases.push_back(apply_case(s));
  }
  cases.push_back(step_case({2, 3, 3, 8}, 0));
  cases.push_back(apply_out_case({2, 4, 5, 12}));
  for (const Sizes& s :
       std::initializer_list<Sizes>{{8, 14, 14, 32}, {1, 64, 64, 32}, {2, 56, 56, 32}})
    for (OpCase large : {step_case(s), apply_case(s)}) {
      large.large = true;
      cases.push_back(large);
    }
  return cases;
}

}  // namespace ttt::ops
