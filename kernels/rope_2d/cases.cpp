// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/registry.h"
#include "kernels/rope_2d/rope_2d.h"

#include <ATen/ATen.h>
#include <spdlog/fmt/fmt.h>

namespace ttt::ops {

std::vector<OpCase> rope_2d_cases();

namespace {

struct Sizes {
  std::int64_t batch, height, width, channels;
};

OpCase rope_case(const Sizes& s, bool sliced = true) {
  OpCase result;
  result.name = fmt::format("b{} {}x{} c{}{}", s.batch, s.height, s.width, s.channels,
                            sliced ? "" : " contiguous");
  result.inputs = [=](at::ScalarType dtype) {
    const at::Tensor wide =
        case_tensor("x", {s.batch, s.height * s.width, s.channels + (sliced ? 7 : 0)}).to(dtype);
    return std::vector<at::Tensor>{wide.narrow(2, sliced ? 5 : 0, s.channels)};
  };
  const RopeTable table = make_rope_table(s.height, s.width, s.channels);
  result.run = [table](const std::vector<at::Tensor>& in, Backend backend) {
    return std::vector<at::Tensor>{rope_2d(in[0], table.to(in[0].device()), backend)};
  };
  const double size = static_cast<double>(s.batch * s.height * s.width * s.channels);
  result.flops = 3 * size;
  result.elements = 2 * size;
  return result;
}

}  // namespace

std::vector<OpCase> rope_2d_cases() {
  std::vector<OpCase> cases;
  for (const Sizes& s : std::initializer_list<Sizes>{{2, 2, 3, 8},
                                                     {1, 1, 1, 4},
                                                     {1, 5, 1, 12},
                                                     {1, 1, 6, 20},
                                                     {3, 3, 7, 96},
                                                     {0, 2, 2, 8},
                                                     {2, 0, 3, 8},
                                                     {1, 2, 2, 0}})
    cases.push_back(rope_case(s));
  cases.push_back(rope_case({2, 4, 3, 40}, false));
  for (const Sizes& s : std::initializer_list<Sizes>{{2, 56, 56, 64}, {8, 14, 14, 320}}) {
    cases.push_back(rope_case(s));
    cases.back().large = true;
  }
  return cases;
}

}  // namespace ttt::ops
