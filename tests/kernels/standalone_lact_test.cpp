// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// The fast-weight launches of LaCT; their products have a test of their own.
#include "kernels/fast_weight_update/cuda.h"
#include "kernels/newton_schulz/cuda.h"
#include "kernels/swiglu_fast_weights/cuda.h"
#include "tests/kernels/standalone.h"

#include <cmath>

namespace ttt::test {
namespace {

using namespace ops::cuda;

TEST(FastWeightUpdate, MatchesHostLoops) {
  TTT_REQUIRE_DEVICE();
  for (const auto& [batch, rows, columns] :
       {std::tuple{2, 9, 13}, std::tuple{1, 40, 70}, std::tuple{3, 1, 1}, std::tuple{0, 4, 4}}) {
    const std::size_t count = static_cast<std::size_t>(batch) * rows * columns;
    const std::vector<float> weight = made_up("weight", count, DataType::float32),
                             step = made_up("step", count, DataType::float32),
                             norms = made_up("norms", batch * columns, DataType::float32);
    const DeviceArray w(weight), s(step), n(norms), out(count);
    launch_fast_weight_update(
        {batch, rows, columns, w.floats(), s.floats(), n.floats(), out.floats()}, {});
    std::vector<double> expected(count);
    for (int b = 0; b < batch; ++b)
      for (int j = 0; j < columns; ++j) {
        double squares = 0;
        const auto place = [&](int i) { return (b * rows + i) * columns + j; };
        for (int i = 0; i < rows; ++i) squares += std::pow(weight[place(i)] + step[place(i)], 2);
        for (int i = 0; i < rows; ++i)
          expected[place(i)] = (weight[place(i)] + step[place(i)]) / (std::sqrt(squares) + 1e-5) *
                               norms[b * columns + j];
      }
    expect_close(out.values(), expected, 4e-6, "out");
  }
}

/// One iteration in double on a matrix [m, n].
std::vector<double> iterated(const std::vector<double>& x, int m, int n,
                             const NewtonSchulzCoefficients& step) {
  std::vector<double> gram(m * m), polynomial(m * m), out(m * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < m; ++j)
      for (int k = 0; k < n; ++k) gram[i * m + j] += x[i * n + k] * x[j * n + k];
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < m; ++j) {
      polynomial[i * m + j] = step.b * gram[i * m + j];
      for (int k = 0; k < m; ++k)
        polynomial[i * m + j] += step.c * gram[i * m + k] * gram[k * m + j];
    }
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      out[i * n + j] = step.a * x[i * n + j];
      for (int k = 0; k < m; ++k) out[i * n + j] += polynomial[i * m + k] * x[k * n + j];
    }
  return out;
}

TEST(NewtonSchulz, MatchesHostLoops) {
  TTT_REQUIRE_DEVICE();
  const NewtonSchulzCoefficients steps[] = {{4.0848F, -6.8946F, 2.9270F},
                                            {2.8366F, -3.0525F, 1.2012F}};
  for (const auto& [m, n] : {std::pair{6, 9}, std::pair{40, 70}}) {
    const std::vector<float> g = made_up("g", m * n, DataType::float32);
    const DeviceArray input(g), x(2 * g.size()), gram(m * m), polynomial(m * m), squares(2);
    NewtonSchulzLaunch launch;
    launch.batch = 1;
    launch.rows = m;
    launch.columns = n;
    launch.steps = steps;
    launch.step_count = 2;
    launch.g = input.floats();
    launch.x = x.floats();
    launch.gram = gram.floats();
    launch.polynomial = polynomial.floats();
    launch.squares = static_cast<double*>(squares.data());
    const std::ptrdiff_t place = launch_newton_schulz(launch, {}) - x.floats();
    double norm = 0;
    for (const float value : g) norm += static_cast<double>(value) * value;
    std::vector<double> expected;
    for (const float value : g) expected.push_back(value / (std::sqrt(norm) + 1e-7));
    for (const NewtonSchulzCoefficients& step : steps) expected = iterated(expected, m, n, step);
    const std::vector<float> all = x.values();
    const std::vector<float> actual(all.begin() + place, all.begin() + place + m * n);
    expect_close(actual, expected, 2e-5, "x");
  }
}

/// w [rows, columns] of one head in double: x w, or x w^T.
std::vector<double> product(const std::vector<float>& x, std::int64_t tokens,
                            const std::vector<float>& w, std::int64_t rows, std::int64_t columns,
                            bool transposed) {
  const std::int64_t depth = transposed ? columns : rows, width = transposed ? rows : columns;
  std::vector<double> out(tokens * width, 0.0);
  for (std::int64_t t = 0; t < tokens; ++t)
    for (std::int64_t i = 0; i < depth; ++i)
      for (std::int64_t j = 0; j < width; ++j)
        out[t * width + j] += static_cast<double>(x[t * depth + i]) *
                              w[transposed ? j * columns + i : i * columns + j];
  return out;
}

class SwigluSums : public testing::TestWithParam<DataType> {};

TEST_P(SwigluSums, MatchHostLoops) {
  TTT_REQUIRE_DEVICE();
  const DataType type = GetParam();
  const std::int64_t tokens = 37, width = 12, hidden = 20;
  const std::vector<float> k = made_up("k", tokens * width, type),
                           v = made_up("v", tokens * width, type),
                           rates = made_up("rates", 3 * tokens, DataType::float32),
                           w0 = made_up("w0", width * hidden, type, 0.3F),
                           w1 = made_up("w1", width * hidden, type, 0.3F),
                           w2 = made_up("w2", width * hidden, type, 0.3F);
  const SwigluSizes sizes{1, tokens, 1, width, hidden};
  const DeviceArray keys(k, type), values(v, type), eta(rates), d0(w0), d1(w1), d2(w2),
      workspace(swiglu_sums_workspace(sizes, false));
  const std::vector<float> zeros(width * hidden, 0.0F);
  const DeviceArray g0(zeros), g1(zeros), g2(zeros);
  SwigluSumsLaunch launch;
  launch.type = type;
  launch.sizes = sizes;
  launch.x = {keys.data(), {tokens * width, width}};
  launch.y = {values.data(), {tokens * width, width}};
  launch.rates = eta.floats();
  launch.weights = {d0.floats(), d1.floats(), d2.floats(), 0};
  launch.sums = {g0.floats(), g1.floats(), g2.floats()};
  launch.workspace = workspace.floats();
  launch_swiglu_sums(launch, {});
  const std::vector<double> a = product(k, tokens, w0, width, hidden, false),
                            c = product(k, tokens, w2, width, hidden, false),
                            r = product(v, tokens, w1, hidden, width, true);
  std::vector<double> e0(width * hidden), e1(width * hidden), e2(width * hidden);
  for (std::int64_t t = 0; t < tokens; ++t)
    for (std::int64_t j = 0; j < hidden; ++j) {
      const std::int64_t at = t * hidden + j;
      const double s = 1 / (1 + std::exp(-a[at])), u = a[at] * s;
      const double slope = s * (1 + a[at] * (1 - s));
      for (std::int64_t i = 0; i < width; ++i) {
        e0[i * hidden + j] += k[t * width + i] * rates[t] * r[at] * c[at] * slope;
        e1[j * width + i] += rates[tokens + t] * u * c[at] * v[t * width + i];
        e2[i * hidden + j] += k[t * width + i] * rates[2 * tokens + t] * r[at] * u;
      }
    }
  expect_close(g0.values(), e0, 2 * tolerance(type), "g0");
  expect_close(g1.values(), e1, 2 * tolerance(type), "g1");
  expect_close(g2.values(), e2, 2 * tolerance(type), "g2");
}

INSTANTIATE_TEST_SUITE_P(Types, SwigluSums, testing::Values(DataType::float32, DataType::bfloat16));

}  // namespace
}  // namespace ttt::test
