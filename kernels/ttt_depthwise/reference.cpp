// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/ttt_depthwise/backends.h"

#include <ATen/ATen.h>

#include <cmath>

namespace ttt::ops::reference {
namespace {

at::Tensor in_double(const at::Tensor& tensor) {
  return tensor.to(at::kDouble).contiguous();
}

/// Element access into a contiguous [B, h, w, d] tensor of doubles; zero outside the grid.
class Grid {
 public:
  explicit Grid(const at::Tensor& tensor)
      : data_(tensor.data_ptr<double>()),
        height(tensor.size(1)),
        width(tensor.size(2)),
        channels(tensor.size(3)) {}
  double& at(std::int64_t b, std::int64_t y, std::int64_t x, std::int64_t c) const {
    return data_[((b * height + y) * width + x) * channels + c];
  }
  double padded(std::int64_t b, std::int64_t y, std::int64_t x, std::int64_t c) const {
    return y < 0 || y >= height || x < 0 || x >= width ? 0.0 : at(b, y, x, c);
  }

 private:
  double* data_;

 public:
  std::int64_t height, width, channels;
};

/// sum over the grid of pad1(x)[y+i, x+j] * e[y, x]
double tap_sum(const Grid& x, const Grid& e, std::int64_t b, std::int64_t c, std::int64_t i,
               std::int64_t j) {
  double sum = 0;
  for (std::int64_t row = 0; row < x.height; ++row)
    for (std::int64_t column = 0; column < x.width; ++column)
      sum += x.padded(b, row + i - 1, column + j - 1, c) * e.at(b, row, column, c);
  return sum;
}

/// out[y, x] = sum_{i,j} pad1(x)[y+i, x+j] * kernel[i, j], kernels [B, 3, 3, d]; `flip` turns each
/// kernel by 180 degrees (the transposed operation).
void correlate(const Grid& x, const Grid& kernels, std::int64_t batch, bool flip, const Grid& out) {
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t row = 0; row < x.height; ++row)
      for (std::int64_t column = 0; column < x.width; ++column)
        for (std::int64_t c = 0; c < x.channels; ++c) {
          double sum = 0;
          for (std::int64_t i = 0; i < 3; ++i)
            for (std::int64_t j = 0; j < 3; ++j)
              sum += x.padded(b, row + i - 1, column + j - 1, c) *
                     (flip ? kernels.at(b, 2 - i, 2 - j, c) : kernels.at(b, i, j, c));
          out.at(b, row, column, c) = sum;
        }
}

double norm_of_taps(const Grid& g, std::int64_t b, std::int64_t c) {
  double sum = 0;
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 3; ++j) sum += g.at(b, i, j, c) * g.at(b, i, j, c);
  return std::sqrt(sum);
}

/// -1/(3hw), the slope of the loss
double slope(const Grid& grid) {
  const double count = static_cast<double>(grid.height * grid.width);
  return count > 0 ? -1.0 / (3.0 * count) : 0.0;
}

}  // namespace

DepthwiseStep depthwise_step(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w3) {
  const at::Tensor kd = in_double(k), vd = in_double(v), w3d = in_double(w3);
  const std::int64_t batch = k.size(0), d = k.size(3);
  const at::Tensor gradient = at::empty({batch, 3, 3, d}, kd.options());
  const at::Tensor kernels = at::empty_like(gradient);
  const Grid keys(kd), values(vd), g(gradient), out(kernels);
  const double* weight = w3d.data_ptr<double>();
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t c = 0; c < d; ++c) {
      for (std::int64_t i = 0; i < 3; ++i)
        for (std::int64_t j = 0; j < 3; ++j)
          g.at(b, i, j, c) = slope(keys) * tap_sum(keys, values, b, c, i, j);
      const double norm = norm_of_taps(g, b, c);
      for (std::int64_t i = 0; i < 3; ++i)
        for (std::int64_t j = 0; j < 3; ++j)
          out.at(b, i, j, c) = weight[c * 9 + i * 3 + j] - g.at(b, i, j, c) / (norm + 1);
    }
  return {kernels.to(w3.scalar_type()), gradient.to(w3.scalar_type())};
}

DepthwiseStepGradients depthwise_step_backward(const at::Tensor& k, const at::Tensor& v,
                                               const at::Tensor& gradient,
                                               const at::Tensor& dkernels) {
  const at::Tensor kd = in_double(k), vd = in_double(v);
  const at::Tensor gd = in_double(gradient), doutd = in_double(dkernels);
  const at::Tensor scaled = at::empty_like(gd);  // slope * gradient with respect to g
  const at::Tensor dk = at::empty_like(kd), dv = at::empty_like(kd);
  const Grid g(gd), dout(doutd), dg(scaled), keys(kd);
  const std::int64_t batch = k.size(0);
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t c = 0; c < k.size(3); ++c) {
      const double norm = norm_of_taps(g, b, c);
      double dot = 0;  // <g, dh>, dh = -dout
      for (std::int64_t i = 0; i < 3; ++i)
        for (std::int64_t j = 0; j < 3; ++j) dot -= g.at(b, i, j, c) * dout.at(b, i, j, c);
      const double along = norm > 0 ? dot / (norm * (norm + 1) * (norm + 1)) : 0;
      for (std::int64_t i = 0; i < 3; ++i)
        for (std::int64_t j = 0; j < 3; ++j)
          dg.at(b, i, j, c) =
              slope(keys) * (-dout.at(b, i, j, c) / (norm + 1) - g.at(b, i, j, c) * along);
    }
  correlate(keys, dg, batch, false, Grid(dv));
  correlate(Grid(vd), dg, batch, true, Grid(dk));
  return {dk.to(k.scalar_type()), dv.to(k.scalar_type())};
}

void depthwise_apply(const at::Tensor& q, const at::Tensor& kernels, const at::Tensor& out) {
  const at::Tensor qd = in_double(q), kernelsd = in_double(kernels);
  const at::Tensor result = at::empty_like(qd);
  correlate(Grid(qd), Grid(kernelsd), q.size(0), false, Grid(result));
  out.copy_(result);
}

DepthwiseApplyGradients depthwise_apply_backward(const at::Tensor& q, const at::Tensor& kernels,
                                                 const at::Tensor& dout) {
  const at::Tensor qd = in_double(q), kernelsd = in_double(kernels), doutd = in_double(dout);
  const at::Tensor dq = at::empty_like(qd), dkernels = at::empty_like(kernelsd);
  correlate(Grid(doutd), Grid(kernelsd), q.size(0), true, Grid(dq));
  const Grid grid(qd), gradient(doutd), result(dkernels);
  for (std::int64_t b = 0; b < q.size(0); ++b)
    for (std::int64_t c = 0; c < q.size(3); ++c)
      for (std::int64_t i = 0; i < 3; ++i)
        for (std::int64_t j = 0; j < 3; ++j)
          result.at(b, i, j, c) = tap_sum(grid, gradient, b, c, i, j);
  return {dq.to(q.scalar_type()), dkernels.to(kernels.scalar_type())};
}

}  // namespace ttt::ops::reference
