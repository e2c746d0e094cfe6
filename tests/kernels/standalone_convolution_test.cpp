// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/depthwise_conv3x3/cuda.h"
#include "kernels/ttt_depthwise/cuda.h"
#include "tests/kernels/standalone.h"

#include <cmath>
#include <tuple>

namespace ttt::test {
namespace {

using namespace ops::cuda;

struct Case {
  std::int64_t batch, height, width, channels;
  int stride = 1;
  ConvolutionActivation activation = ConvolutionActivation::none;
  bool add_input = false;
  bool bias = false;
  std::int64_t pad = 0;  // channels before and behind that belong to others
};

double activate(double z, ConvolutionActivation activation) {
  if (activation == ConvolutionActivation::relu) return z < 0 ? 0 : z;
  if (activation == ConvolutionActivation::gelu) return 0.5 * z * (1 + std::erf(z / std::sqrt(2)));
  return z;
}

double slope(double z, ConvolutionActivation activation) {
  if (activation == ConvolutionActivation::relu) return z <= 0 ? 0 : 1;
  if (activation == ConvolutionActivation::gelu)
    return 0.5 * (1 + std::erf(z / std::sqrt(2))) +
           z * std::exp(-z * z / 2) / std::sqrt(2 * 3.14159265358979323846);
  return 1;
}

/// An activation [batch, rows, columns, channels] with room beside the channels.
struct Grid {
  std::int64_t rows, columns, channels, pad;
  std::int64_t row_size() const { return channels + 2 * pad; }
  std::size_t count(std::int64_t batch) const { return batch * rows * columns * row_size(); }
  std::size_t at(std::int64_t b, std::int64_t y, std::int64_t x, std::int64_t c) const {
    return ((b * rows + y) * columns + x) * row_size() + pad + c;
  }
  GridStrides strides() const {
    return {rows * columns * row_size(), columns * row_size(), row_size()};
  }
};

/// Calls visit(output position, output coordinates …, input position or -1, tap) for all taps.
template <typename Visit>
void for_each_tap(const ConvolutionSizes& s, const Visit& visit) {
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t y = 0; y < s.out_height(); ++y)
      for (std::int64_t x = 0; x < s.out_width(); ++x)
        for (std::int64_t c = 0; c < s.channels; ++c)
          for (std::int64_t tap = 0; tap < 9; ++tap) {
            const std::int64_t row = y * s.stride + tap / 3 - 1,
                               column = x * s.stride + tap % 3 - 1;
            if (row >= 0 && row < s.height && column >= 0 && column < s.width)
              visit(b, y, x, row, column, c, tap);
          }
}

class Convolution : public testing::TestWithParam<std::tuple<DataType, Case>> {};

TEST_P(Convolution, MatchesHostLoops) {
  TTT_REQUIRE_DEVICE();
  const auto& [type, c] = GetParam();
  const ConvolutionSizes sizes{c.batch, c.height, c.width, c.channels, c.stride};
  const Grid in{c.height, c.width, c.channels, c.pad};
  const Grid out{sizes.out_height(), sizes.out_width(), c.channels, c.pad};
  const Grid dense{out.rows, out.columns, c.channels, 0};
  const std::vector<float> x = made_up("x", in.count(c.batch), type);
  const std::vector<float> taps = made_up("taps", 9 * c.channels, DataType::float32);
  const std::vector<float> bias = made_up("bias", c.channels, DataType::float32);
  const std::vector<float> dout = made_up("dout", out.count(c.batch), type);

  std::vector<double> z(dense.count(c.batch), 0.0), expected(z.size()), dz(z.size());
  for_each_tap(
      sizes, [&](auto b, auto y, auto column, auto row_in, auto column_in, auto channel, auto tap) {
        z[dense.at(b, y, column, channel)] +=
            x[in.at(b, row_in, column_in, channel)] * taps[tap * c.channels + channel];
      });
  std::vector<double> sums(10 * c.channels, 0.0),
      dx(Grid{in.rows, in.columns, c.channels, 0}.count(c.batch), 0.0);
  const Grid dense_in{in.rows, in.columns, c.channels, 0};
  for (std::int64_t b = 0; b < c.batch; ++b)
    for (std::int64_t y = 0; y < out.rows; ++y)
      for (std::int64_t column = 0; column < out.columns; ++column)
        for (std::int64_t channel = 0; channel < c.channels; ++channel) {
          const std::size_t i = dense.at(b, y, column, channel);
          if (c.bias) z[i] += bias[channel];
          if (c.add_input) z[i] += x[in.at(b, y, column, channel)];
          expected[i] = activate(z[i], c.activation);
          dz[i] = dout[out.at(b, y, column, channel)] * slope(z[i], c.activation);
          sums[9 * c.channels + channel] += dz[i];
          if (c.add_input) dx[dense_in.at(b, y, column, channel)] += dz[i];
        }
  for_each_tap(
      sizes, [&](auto b, auto y, auto column, auto row_in, auto column_in, auto channel, auto tap) {
        const double e = dz[dense.at(b, y, column, channel)];
        sums[tap * c.channels + channel] += e * x[in.at(b, row_in, column_in, channel)];
        dx[dense_in.at(b, row_in, column_in, channel)] += e * taps[tap * c.channels + channel];
      });

  const DeviceArray dx_in(x, type), d_taps(taps), d_bias(bias), d_dout(dout, type);
  const DeviceArray d_out(out.count(c.batch), type), d_dz(dense.count(c.batch));
  const ConvolutionParameters parameters{d_taps.floats(), 0, c.bias ? d_bias.floats() : nullptr,
                                         c.add_input, c.activation};
  launch_convolution({type,
                      type,
                      sizes,
                      {dx_in.element(c.pad), in.strides()},
                      {d_out.element(c.pad), out.strides()},
                      parameters,
                      false},
                     {});
  const std::int64_t chunks = tap_sum_chunks(sizes);
  const DeviceArray d_sums(c.batch * chunks * 10 * c.channels), d_totals(10 * c.channels);
  const bool gated = c.activation != ConvolutionActivation::none;
  launch_tap_sums({type,
                   sizes,
                   {dx_in.element(c.pad), in.strides()},
                   {d_dout.element(c.pad), out.strides()},
                   parameters,
                   gated ? d_dz.floats() : nullptr,
                   d_sums.floats()},
                  {});
  launch_chunk_total(
      {d_sums.floats(), d_totals.floats(), 1, c.batch * chunks, 10 * c.channels, 10 * c.channels},
      {});
  const DeviceArray d_dx(dense_in.count(c.batch), type);
  ConvolutionLaunch back{gated ? DataType::float32 : type, type, sizes, {}, {}, {}, true};
  back.x = gated ? GridInput{d_dz.data(), dense.strides()}
                 : GridInput{d_dout.element(c.pad), out.strides()};
  back.out = {d_dx.data(), dense_in.strides()};
  back.parameters.taps = d_taps.floats();
  back.parameters.add_input = c.add_input;
  if (c.stride == 1) launch_convolution(back, {});
  if (c.stride == 2) launch_transposed_convolution(back, {});

  const std::vector<float> all = d_out.values();
  std::vector<float> own;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i) % out.row_size() - c.pad;
    if (at >= 0 && at < c.channels) {
      own.push_back(all[i]);
    } else {
      EXPECT_TRUE(std::isnan(all[i])) << "channels beside the output were changed";
    }
  }
  expect_close(own, expected, tolerance(type), "out");
  expect_close(d_totals.values(), sums, 1e-5, "sums");
  expect_close(d_dx.values(), dx, tolerance(type), "dx");
}

constexpr auto kNone = ConvolutionActivation::none;
constexpr auto kRelu = ConvolutionActivation::relu;
constexpr auto kGelu = ConvolutionActivation::gelu;

INSTANTIATE_TEST_SUITE_P(
    Sizes, Convolution,
    testing::Combine(testing::Values(DataType::float32, DataType::bfloat16),
                     testing::Values(Case{1, 1, 1, 1}, Case{2, 5, 7, 8, 1, kNone, true, true},
                                     Case{1, 6, 17, 12, 1, kGelu, true, true},
                                     Case{2, 5, 6, 8, 2, kRelu, false, true},
                                     Case{1, 7, 9, 5, 2, kRelu, false, true, 1},
                                     Case{1, 4, 4, 8, 1, kGelu, true, false, 3},
                                     Case{1, 1, 20, 4, 2, kNone}, Case{1, 3, 3, 132},
                                     Case{1, 150, 9, 128, 1, kRelu},  // several chunks
                                     Case{0, 3, 3, 4}, Case{1, 0, 3, 4}, Case{1, 3, 3, 0})));

class DepthwiseInner : public testing::TestWithParam<std::int64_t> {};

TEST_P(DepthwiseInner, ClipAndItsWayBackMatchHostLoops) {
  TTT_REQUIRE_DEVICE();
  constexpr std::int64_t kBatch = 2, kChunks = 3;
  const std::int64_t channels = GetParam();
  const float scale = -0.125F;
  std::vector<float> sums = made_up("sums", kBatch * kChunks * 10 * channels, DataType::float32, 9);
  for (std::int64_t i = 0; i < kBatch * kChunks * 10; ++i)
    if (channels > 1) sums[i * channels] = 0;  // a channel without gradient
  const std::vector<float> w3 = made_up("w3", 9 * channels, DataType::float32);
  const std::vector<float> d = made_up("d", kBatch * 9 * channels, DataType::float32);
  const DeviceArray d_sums(sums), d_w3(w3), d_d(d);
  const DeviceArray kernels(d.size()), gradient(d.size()), factors(d.size());
  launch_depthwise_clip({d_sums.floats(), kBatch, kChunks, channels, scale, d_w3.floats(),
                         kernels.floats(), gradient.floats()},
                        {});
  launch_depthwise_factors(
      {gradient.floats(), d_d.floats(), kBatch, channels, scale, factors.floats()}, {});
  std::vector<double> g(d.size(), 0.0), stepped(d.size()), back(d.size());
  for (std::int64_t b = 0; b < kBatch; ++b)
    for (std::int64_t c = 0; c < channels; ++c) {
      const auto at = [&](std::int64_t tap) { return (b * 9 + tap) * channels + c; };
      double squares = 0, dot = 0;
      for (std::int64_t tap = 0; tap < 9; ++tap) {
        for (std::int64_t chunk = 0; chunk < kChunks; ++chunk)
          g[at(tap)] += scale * sums[((b * kChunks + chunk) * 10 + tap) * channels + c];
        squares += g[at(tap)] * g[at(tap)];
        dot -= g[at(tap)] * d[at(tap)];
      }
      const double n = std::sqrt(squares), along = n > 0 ? dot / (n * (n + 1) * (n + 1)) : 0;
      for (std::int64_t tap = 0; tap < 9; ++tap) {
        stepped[at(tap)] = w3[c * 9 + tap] - g[at(tap)] / (n + 1);
        back[at(tap)] = scale * (-d[at(tap)] / (n + 1) - g[at(tap)] * along);
      }
    }
  expect_close(gradient.values(), g, 4e-6, "gradient");
  expect_close(kernels.values(), stepped, 4e-6, "kernels");
  expect_close(factors.values(), back, 4e-6, "factors");
}

INSTANTIATE_TEST_SUITE_P(Channels, DepthwiseInner, testing::Values(1, 8, 150));

}  // namespace
}  // namespace ttt::test
