// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear/cuda.h"
#include "tests/kernels/standalone.h"

#include <cmath>
#include <tuple>

namespace ttt::test {
namespace {

using namespace ops::cuda;
using ops::LinearActivation;

struct Case {
  std::int64_t rows, columns, depth;
  LinearActivation activation = LinearActivation::none;
  bool norm = false, residual = false, before = false;
  std::int64_t pad = 0;  // elements between the rows of x and of the weight
};

constexpr float kEpsilon = 1e-6F;

double activate(double z, LinearActivation activation) {
  if (activation == LinearActivation::relu) return z < 0 ? 0 : z;
  if (activation == LinearActivation::gelu) return 0.5 * z * (1 + std::erf(z / std::sqrt(2.0)));
  if (activation == LinearActivation::silu) return z / (1 + std::exp(-z));
  return z;
}

/// The values that a launch gets, and what it has to compute of them.
struct Problem {
  Problem(const Case& c, DataType type)
      : c(c),
        stride(c.depth + c.pad),
        x(made_up("x", c.rows * stride, type)),
        weight(made_up("weight", c.columns * stride, type, 0.3F)),
        bias(made_up("bias", c.columns, DataType::float32)),
        norm_weight(made_up("norm weight", c.depth, DataType::float32)),
        norm_bias(made_up("norm bias", c.depth, DataType::float32)),
        residual(made_up("residual", c.rows * c.columns, type)) {}

  std::vector<double> row(std::int64_t i) const {
    std::vector<double> values(x.begin() + i * stride, x.begin() + i * stride + c.depth);
    if (!c.norm) return values;
    double mean = 0, variance = 0;
    for (const double value : values) mean += value / static_cast<double>(c.depth);
    for (const double value : values)
      variance += (value - mean) * (value - mean) / static_cast<double>(c.depth);
    for (std::int64_t k = 0; k < c.depth; ++k)
      values[k] =
          (values[k] - mean) / std::sqrt(variance + kEpsilon) * norm_weight[k] + norm_bias[k];
    return values;
  }
  /// norm(x) Wt + bias
  std::vector<double> sums() const {
    std::vector<double> result;
    for (std::int64_t i = 0; i < c.rows; ++i) {
      const std::vector<double> left = row(i);
      for (std::int64_t j = 0; j < c.columns; ++j) {
        double sum = bias[j];
        for (std::int64_t k = 0; k < c.depth; ++k) sum += left[k] * weight[j * stride + k];
        result.push_back(sum);
      }
    }
    return result;
  }

  Case c;
  std::int64_t stride;
  std::vector<float> x, weight, bias, norm_weight, norm_bias, residual;
};

class Linear : public testing::TestWithParam<std::tuple<DataType, Case>> {};

TEST_P(Linear, MatchesHostLoops) {
  TTT_REQUIRE_DEVICE();
  const auto& [type, c] = GetParam();
  const Problem problem(c, type);
  const DeviceArray x(problem.x, type), weight(problem.weight, type), bias(problem.bias),
      norm_weight(problem.norm_weight), norm_bias(problem.norm_bias),
      out(problem.residual, type),  // the residual is where the result goes
      before(c.rows * c.columns, type);
  LinearLaunch launch;
  launch.factors = type;
  launch.rows = c.rows;
  launch.columns = c.columns;
  launch.depth = c.depth;
  launch.x = {x.data(), problem.stride, type, problem.stride % 4 == 0};
  launch.weight = {weight.data(), problem.stride, type, problem.stride % 4 == 0};
  if (c.norm)
    launch.norm = {static_cast<const float*>(norm_weight.data()),
                   static_cast<const float*>(norm_bias.data()), kEpsilon};
  launch.bias = static_cast<const float*>(bias.data());
  launch.activation = c.activation;
  if (c.before) launch.before = {before.data(), c.columns, type};
  launch.out = {out.data(), c.columns, type};
  if (c.residual) launch.residual = launch.out;
  launch_linear(launch, {});
  const std::vector<double> sums = problem.sums();
  std::vector<double> expected;
  for (std::size_t i = 0; i < sums.size(); ++i)
    expected.push_back(activate(sums[i], c.activation) + (c.residual ? problem.residual[i] : 0));
  // The normalised factor is rounded to the type as well.
  const double bound = (c.norm ? 2 : 1) * tolerance(type);
  expect_close(out.values(), expected, bound, "out");
  if (c.before) expect_close(before.values(), sums, bound, "before");
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, Linear,
    testing::Combine(testing::Values(DataType::float32, DataType::bfloat16),
                     testing::Values(Case{1, 1, 1}, Case{5, 7, 3}, Case{70, 80, 33},
                                     Case{64, 64, 32, LinearActivation::gelu},
                                     Case{67, 65, 100, LinearActivation::silu, false, true, true},
                                     Case{3, 130, 96, LinearActivation::relu, false, true, false,
                                          4},
                                     Case{9, 10, 31, LinearActivation::none, false, false, true, 2},
                                     Case{70, 40, 48, LinearActivation::gelu, true, true},
                                     Case{65, 70, 33, LinearActivation::none, true, false, true, 3},
                                     Case{2, 3, 0}, Case{0, 3, 4}, Case{3, 0, 4})));

}  // namespace
}  // namespace ttt::test
