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

template <typename Visit>
void for_each_output(const ConvolutionSizes& s, const Visit& visit) {
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t y = 0; y < s.out_height(); ++y)
      for (std::int64_t x = 0; x < s.out_width(); ++x)
        for (std::int64_t c = 0; c < s.channels; ++c) visit(b, y, x, c);
}

/// One product of the convolution: output (y, x), input (row, column).
struct Tap {
  std::int64_t b, y, x, row, column, c, tap;
};

/// Calls visit for those whose input lies on the grid.
template <typename Visit>
void for_each_tap(const ConvolutionSizes& s, const Visit& visit) {
  for_each_output(s, [&](std::int64_t b, std::int64_t y, std::int64_t x, std::int64_t c) {
    for (std::int64_t tap = 0; tap < 9; ++tap) {
      const std::int64_t row = y * s.stride + tap / 3 - 1, column = x * s.stride + tap % 3 - 1;
      if (row >= 0 && row < s.height && column >= 0 && column < s.width)
        visit(Tap{b, y, x, row, column, c, tap});
    }
  });
}

/// A case's tensors on the host, and what comes out in double.
struct Host {
  Host(const Case& c, DataType type)
      : sizes{c.batch, c.height, c.width, c.channels, c.stride},
        in{c.height, c.width, c.channels, c.pad},
        out{sizes.out_height(), sizes.out_width(), c.channels, c.pad},
        x(made_up("x", in.count(c.batch), type)),
        taps(made_up("taps", 9 * c.channels, DataType::float32)),
        bias(made_up("bias", c.channels, DataType::float32)),
        dout(made_up("dout", out.count(c.batch), type)) {
    convolve(c);
    differentiate(c);
  }
  Grid dense_in() const { return {in.rows, in.columns, in.channels, 0}; }
  Grid dense_out() const { return {out.rows, out.columns, out.channels, 0}; }

  ConvolutionSizes sizes;
  Grid in, out;
  std::vector<float> x, taps, bias, dout;
  std::vector<double> z, y, dx, sums;  // before and after the activation; sums [10, channels]

 private:
  void convolve(const Case& c) {
    z.assign(dense_out().count(c.batch), 0.0);
    for_each_tap(sizes, [&](const Tap& t) {
      z[dense_out().at(t.b, t.y, t.x, t.c)] +=
          x[in.at(t.b, t.row, t.column, t.c)] * taps[t.tap * in.channels + t.c];
    });
    y.resize(z.size());
    for_each_output(
        sizes, [&](std::int64_t b, std::int64_t row, std::int64_t column, std::int64_t channel) {
          const std::size_t i = dense_out().at(b, row, column, channel);
          if (c.bias) z[i] += bias[channel];
          if (c.add_input) z[i] += x[in.at(b, row, column, channel)];
          y[i] = activate(z[i], c.activation);
        });
  }
  void differentiate(const Case& c) {
    dx.assign(dense_in().count(c.batch), 0.0);
    sums.assign(10 * c.channels, 0.0);
    std::vector<double> dz(z.size());
    for_each_output(
        sizes, [&](std::int64_t b, std::int64_t row, std::int64_t column, std::int64_t channel) {
          const std::size_t i = dense_out().at(b, row, column, channel);
          dz[i] = dout[out.at(b, row, column, channel)] * slope(z[i], c.activation);
          sums[9 * c.channels + channel] += dz[i];
          if (c.add_input) dx[dense_in().at(b, row, column, channel)] += dz[i];
        });
    for_each_tap(sizes, [&](const Tap& t) {
      const double e = dz[dense_out().at(t.b, t.y, t.x, t.c)];
      sums[t.tap * c.channels + t.c] += e * x[in.at(t.b, t.row, t.column, t.c)];
      dx[dense_in().at(t.b, t.row, t.column, t.c)] += e * taps[t.tap * c.channels + t.c];
    });
  }
};

/// The same tensors on the device.
struct Device {
  Device(const Host& host, const Case& c, DataType type)
      : x(host.x, type), dout(host.dout, type), taps(host.taps), bias(host.bias) {
    in = {x.element(c.pad), host.in.strides()};
    gradient = {dout.element(c.pad), host.out.strides()};
    parameters = {taps.floats(), 0, c.bias ? bias.floats() : nullptr, c.add_input, c.activation};
  }
  DeviceArray x, dout, taps, bias;
  GridInput in, gradient;
  ConvolutionParameters parameters;
};

class Convolution : public testing::TestWithParam<std::tuple<DataType, Case>> {};

TEST_P(Convolution, ForwardMatchesHostLoops) {
  TTT_REQUIRE_DEVICE();
  const auto& [type, c] = GetParam();
  const Host host(c, type);
  const Device device(host, c, type);
  const DeviceArray out(host.out.count(c.batch), type);
  launch_convolution({type,
                      type,
                      host.sizes,
                      device.in,
                      {out.element(c.pad), host.out.strides()},
                      device.parameters,
                      false},
                     {});
  const std::vector<float> all = out.values();
  std::vector<float> own;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i) % host.out.row_size() - c.pad;
    if (at >= 0 && at < c.channels) {
      own.push_back(all[i]);
    } else {
      EXPECT_TRUE(std::isnan(all[i])) << "channels beside the output were changed";
    }
  }
  expect_close(own, host.y, tolerance(type), "out");
}

TEST_P(Convolution, BackwardMatchesHostLoops) {
  TTT_REQUIRE_DEVICE();
  const auto& [type, c] = GetParam();
  const Host host(c, type);
  const Device device(host, c, type);
  const std::int64_t chunks = tap_sum_chunks(host.sizes);
  const std::int64_t values = 10 * c.channels;
  const DeviceArray sums(c.batch * chunks * values), totals(values);
  const DeviceArray dz(host.dense_out().count(c.batch)), dx(host.dx.size(), type);
  const bool gated = c.activation != ConvolutionActivation::none;
  launch_tap_sums({type, host.sizes, device.in, device.gradient, device.parameters,
                   gated ? dz.floats() : nullptr, sums.floats()},
                  {});
  launch_chunk_total({sums.floats(), totals.floats(), 1, c.batch * chunks, values, values}, {});
  ConvolutionLaunch back;
  back.input_type = gated ? DataType::float32 : type;
  back.output_type = type;
  back.sizes = host.sizes;
  back.x = gated ? GridInput{dz.data(), host.dense_out().strides()} : device.gradient;
  back.out = {dx.data(), host.dense_in().strides()};
  back.parameters.taps = device.taps.floats();
  back.parameters.add_input = c.add_input;
  back.flip = true;
  if (c.stride == 1) launch_convolution(back, {});
  if (c.stride == 2) launch_transposed_convolution(back, {});
  expect_close(totals.values(), host.sums, 1e-5, "sums");
  expect_close(dx.values(), host.dx, tolerance(type), "dx");
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
