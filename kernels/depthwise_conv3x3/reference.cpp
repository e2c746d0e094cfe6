// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/depthwise_conv3x3/backends.h"

#include <ATen/ATen.h>

#include <cmath>
#include <functional>

namespace ttt::ops::reference {
namespace {

at::Tensor in_double(const at::Tensor& tensor) {
  return tensor.to(at::kDouble).contiguous();
}

double activate(double z, Activation activation) {
  switch (activation) {
    case Activation::relu:
      return z < 0 ? 0 : z;  // keeps NaN
    case Activation::gelu:
      return 0.5 * z * (1 + std::erf(z / std::sqrt(2.0)));
    case Activation::none:
      break;
  }
  return z;
}

double activation_slope(double z, Activation activation) {
  constexpr double kInverseSqrtTwoPi = 0.39894228040143267794;
  switch (activation) {
    case Activation::relu:
      return z <= 0 ? 0 : 1;
    case Activation::gelu:
      return 0.5 * (1 + std::erf(z / std::sqrt(2.0))) +
             z * kInverseSqrtTwoPi * std::exp(-0.5 * z * z);
    case Activation::none:
      break;
  }
  return 1;
}

/// Sizes of a convolution and the flat positions of its elements in contiguous tensors.
struct Geometry {
  Geometry(const at::Tensor& x, const DepthwiseConvOptions& options)
      : batch(x.size(0)),
        height(x.size(1)),
        width(x.size(2)),
        channels(x.size(3)),
        stride(options.stride),
        out_height(depthwise_conv_size(height, stride)),
        out_width(depthwise_conv_size(width, stride)) {}
  std::int64_t batch, height, width, channels, stride, out_height, out_width;

  std::int64_t in(std::int64_t b, std::int64_t y, std::int64_t x, std::int64_t c) const {
    return ((b * height + y) * width + x) * channels + c;
  }
  std::int64_t out(std::int64_t b, std::int64_t y, std::int64_t x, std::int64_t c) const {
    return ((b * out_height + y) * out_width + x) * channels + c;
  }
  /// Calls visit(input position, tap position) for the taps of one output that lie on the grid.
  template <typename Visit>
  void for_each_tap(std::int64_t b, std::int64_t y, std::int64_t x, std::int64_t c,
                    const Visit& visit) const {
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t j = 0; j < 3; ++j) {
        const std::int64_t row = y * stride + i - 1, column = x * stride + j - 1;
        if (row < 0 || row >= height || column < 0 || column >= width) continue;
        visit(in(b, row, column, c), (i * 3 + j) * channels + c);
      }
  }
  template <typename Visit>
  void for_each_output(const Visit& visit) const {
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t y = 0; y < out_height; ++y)
        for (std::int64_t x = 0; x < out_width; ++x)
          for (std::int64_t c = 0; c < channels; ++c) visit(b, y, x, c);
  }
};

/// The value before the activation.
double linear_part(const Geometry& geometry, const double* in, const double* taps,
                   const double* bias, bool add_input, std::int64_t b, std::int64_t y,
                   std::int64_t x, std::int64_t c) {
  double sum = bias != nullptr ? bias[c] : 0;
  geometry.for_each_tap(b, y, x, c, [&](std::int64_t position, std::int64_t tap) {
    sum += in[position] * taps[tap];
  });
  if (add_input) sum += in[geometry.in(b, y, x, c)];
  return sum;
}

}  // namespace

at::Tensor depthwise_conv3x3(const at::Tensor& x, const at::Tensor& taps, const at::Tensor& bias,
                             const DepthwiseConvOptions& options) {
  const Geometry geometry(x, options);
  const at::Tensor xd = in_double(x), tapsd = in_double(taps);
  const at::Tensor biasd = bias.defined() ? in_double(bias) : bias;
  const double* shift = bias.defined() ? biasd.data_ptr<double>() : nullptr;
  const at::Tensor result = at::empty(
      {geometry.batch, geometry.out_height, geometry.out_width, geometry.channels}, xd.options());
  geometry.for_each_output(
      [&](std::int64_t b, std::int64_t y, std::int64_t column, std::int64_t c) {
        result.data_ptr<double>()[geometry.out(b, y, column, c)] =
            activate(linear_part(geometry, xd.data_ptr<double>(), tapsd.data_ptr<double>(), shift,
                                 options.add_input, b, y, column, c),
                     options.activation);
      });
  return result.to(x.scalar_type());
}

DepthwiseConvGradients depthwise_conv3x3_backward(const at::Tensor& x, const at::Tensor& taps,
                                                  const at::Tensor& bias,
                                                  const DepthwiseConvOptions& options,
                                                  const at::Tensor& dout) {
  const Geometry geometry(x, options);
  const at::Tensor xd = in_double(x), tapsd = in_double(taps), doutd = in_double(dout);
  const at::Tensor biasd = bias.defined() ? in_double(bias) : bias;
  const double* shift = bias.defined() ? biasd.data_ptr<double>() : nullptr;
  const at::Tensor dx = at::zeros_like(xd), dtaps = at::zeros_like(tapsd);
  const at::Tensor dbias = at::zeros({geometry.channels}, xd.options());
  const double *in = xd.data_ptr<double>(), *weight = tapsd.data_ptr<double>();
  geometry.for_each_output([&](std::int64_t b, std::int64_t y, std::int64_t column,
                               std::int64_t c) {
    const double z = linear_part(geometry, in, weight, shift, options.add_input, b, y, column, c);
    const double slope = doutd.data_ptr<double>()[geometry.out(b, y, column, c)] *
                         activation_slope(z, options.activation);
    dbias.data_ptr<double>()[c] += slope;
    if (options.add_input) dx.data_ptr<double>()[geometry.in(b, y, column, c)] += slope;
    geometry.for_each_tap(b, y, column, c, [&](std::int64_t position, std::int64_t tap) {
      dx.data_ptr<double>()[position] += slope * weight[tap];
      dtaps.data_ptr<double>()[tap] += slope * in[position];
    });
  });
  return {dx.to(x.scalar_type()), dtaps.to(taps.scalar_type()), dbias.to(taps.scalar_type())};
}

}  // namespace ttt::ops::reference
