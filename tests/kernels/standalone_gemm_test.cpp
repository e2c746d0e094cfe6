// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/cuda_gemm.h"
#include "tests/kernels/standalone.h"

#include <tuple>

namespace ttt::test {
namespace {

using namespace ops::cuda;

struct Case {
  std::int64_t samples, heads, rows, columns, depth;
  bool a_transposed = false, b_transposed = false, add = false;
  bool shared_b = false;  // one B for all samples
  std::int64_t pad = 0;   // elements between the rows
};

/// Matrices [samples, heads, rows, columns + pad], or of the transposes.
struct Matrices {
  Matrices(const char* name, std::int64_t samples, std::int64_t heads, std::int64_t rows,
           std::int64_t columns, bool transposed, std::int64_t pad, DataType type)
      : stride((transposed ? rows : columns) + pad), transposed(transposed), type(type) {
    head = (transposed ? columns : rows) * stride;
    sample = heads * head;
    values = made_up(name, samples * sample, type);
  }
  GemmMatrix in(const DeviceArray& array, bool shared = false) const {
    const GemmMatrix m{array.data(), type, stride, 1, shared ? 0 : sample, head};
    return transposed ? m.transposed() : m;
  }
  double at(std::int64_t s, std::int64_t h, std::int64_t row, std::int64_t column) const {
    const std::int64_t place = transposed ? column * stride + row : row * stride + column;
    return values[s * sample + h * head + place];
  }
  std::int64_t stride, head, sample;
  bool transposed;
  DataType type;
  std::vector<float> values;
};

class Gemm : public testing::TestWithParam<std::tuple<DataType, DataType, Case>> {};

TEST_P(Gemm, MatchesHostLoops) {
  TTT_REQUIRE_DEVICE();
  const auto& [type, out_type, c] = GetParam();
  const Matrices a("a", c.samples, c.heads, c.rows, c.depth, c.a_transposed, c.pad, type);
  const Matrices b("b", c.shared_b ? 1 : c.samples, c.heads, c.depth, c.columns, c.b_transposed,
                   c.pad, type);
  const Matrices d("d", c.samples, c.heads, c.rows, c.columns, false, 0, DataType::float32);
  const DeviceArray a_array(a.values, type), b_array(b.values, type), d_array(d.values);
  const DeviceArray out(c.samples * c.heads * c.rows * c.columns, out_type);
  GemmLaunch launch;
  launch.factors = type;
  launch.samples = c.samples;
  launch.heads = c.heads;
  launch.rows = c.rows;
  launch.columns = c.columns;
  launch.depth = c.depth;
  launch.a = a.in(a_array);
  launch.b = b.in(b_array, c.shared_b);
  if (c.add) launch.d = d.in(d_array);
  launch.out = {out.data(),        out_type, c.columns, 1, c.heads * c.rows * c.columns,
                c.rows * c.columns};
  launch.alpha = 0.5F;
  launch.beta = -2;
  launch_gemm(launch, {});
  std::vector<double> expected;
  for (std::int64_t s = 0; s < c.samples; ++s)
    for (std::int64_t h = 0; h < c.heads; ++h)
      for (std::int64_t i = 0; i < c.rows; ++i)
        for (std::int64_t j = 0; j < c.columns; ++j) {
          double sum = 0;
          for (std::int64_t k = 0; k < c.depth; ++k)
            sum += a.at(s, h, i, k) * b.at(c.shared_b ? 0 : s, h, k, j);
          expected.push_back(0.5 * sum - (c.add ? 2 * d.at(s, h, i, j) : 0));
        }
  expect_close(out.values(), expected, tolerance(out_type), "out");
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, Gemm,
    testing::Combine(testing::Values(DataType::float32, DataType::bfloat16),
                     testing::Values(DataType::float32, DataType::bfloat16),
                     testing::Values(Case{1, 1, 1, 1, 1}, Case{2, 3, 5, 7, 3},
                                     Case{1, 1, 70, 80, 33}, Case{1, 2, 64, 64, 32},
                                     Case{2, 1, 20, 9, 40, true, false, true},
                                     Case{1, 2, 17, 33, 12, false, true, true, false, 3},
                                     Case{3, 2, 6, 6, 8, true, true, false, true, 1},
                                     Case{1, 1, 4, 5, 0, false, false, true},
                                     Case{0, 1, 4, 5, 3})));

}  // namespace
}  // namespace ttt::test
