// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/rope_2d/cuda.h"
#include "tests/kernels/standalone.h"

#include <cmath>
#include <tuple>

namespace ttt::test {
namespace {

using namespace ops::cuda;

struct Case {
  std::int64_t batch, height, width, channels;
  std::int64_t pad = 0;  // channels before and behind that belong to others
  bool in_place = false;
};

class Rope : public testing::TestWithParam<std::tuple<DataType, bool, Case>> {};

TEST_P(Rope, MatchesHostLoops) {
  TTT_REQUIRE_DEVICE();
  const auto& [type, inverse, c] = GetParam();
  const std::int64_t pairs = c.channels / 4, row = c.channels + 2 * c.pad;
  const std::int64_t tokens = c.height * c.width;
  const std::vector<float> x = made_up("x", c.batch * tokens * row, type);
  std::vector<float> tables[4];
  for (int i = 0; i < 4; ++i) {
    tables[i] = made_up("angle" + std::to_string(i / 2), (i < 2 ? c.height : c.width) * pairs,
                        DataType::float32, 3);
    for (float& angle : tables[i]) angle = i % 2 == 0 ? std::cos(angle) : std::sin(angle);
  }
  const DeviceArray row_cos(tables[0]), row_sin(tables[1]), column_cos(tables[2]),
      column_sin(tables[3]);
  const DeviceArray input(x, type), separate(x.size(), type);
  const DeviceArray& output = c.in_place ? input : separate;
  const TokenStrides strides{tokens * row, row};
  launch_rope_2d({type, input.element(c.pad), output.element(c.pad), strides, strides,
                  row_cos.floats(), row_sin.floats(), column_cos.floats(), column_sin.floats(),
                  c.batch, c.height, c.width, c.channels, inverse},
                 {});
  std::vector<float> actual;
  std::vector<double> expected;
  const std::vector<float> result = output.values();
  for (std::int64_t n = 0; n < c.batch * tokens; ++n) {
    const std::int64_t y = n % tokens / c.width, column = n % tokens % c.width;
    for (std::int64_t p = 0; p < 2 * pairs; ++p) {
      const std::int64_t entry = p < pairs ? y * pairs + p : column * pairs + p - pairs;
      const double cosine = tables[p < pairs ? 0 : 2][entry];
      const double sine = (inverse ? -1 : 1) * tables[p < pairs ? 1 : 3][entry];
      const std::size_t at = n * row + c.pad + 2 * p;
      actual.insert(actual.end(), {result[at], result[at + 1]});
      expected.insert(expected.end(),
                      {x[at] * cosine - x[at + 1] * sine, x[at] * sine + x[at + 1] * cosine});
    }
  }
  expect_close(actual, expected, tolerance(type), "out");
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, Rope,
    testing::Combine(testing::Values(DataType::float32, DataType::bfloat16), testing::Bool(),
                     testing::Values(Case{1, 1, 1, 4}, Case{2, 3, 5, 8}, Case{9, 2, 3, 64},
                                     Case{2, 2, 2, 20, 3}, Case{1, 7, 1, 96, 0, true},
                                     Case{2, 4, 4, 32, 5, true}, Case{0, 2, 2, 8}, Case{1, 0, 3, 8},
                                     Case{1, 2, 2, 0})));

}  // namespace
}  // namespace ttt::test
