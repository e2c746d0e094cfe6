// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/fast_weight_update/backends.h"
#include "kernels/fast_weight_update/cpu_kernel.h"
#include "kernels/support/cpu_isa.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace ttt::ops::cpu {
namespace {

const FastWeightKernels& kernels() {
  return select_kernels(baseline::fast_weight_kernels, avx2::fast_weight_kernels,
                        avx512::fast_weight_kernels);
}

// Columns of a task of the backward pass; the rows of such a stripe are read one after the other.
constexpr std::int64_t kColumns = 64;
using Columns = std::array<double, kColumns>;

struct Stripe {
  std::int64_t matrix;  ///< element where the stripe starts
  std::int64_t vector;  ///< its place in [batch, out]
  std::int64_t rows, stride, columns;
};

template <typename Body>
void for_each_stripe(const at::Tensor& matrices, std::int64_t width, const Body& body) {
  const std::int64_t rows = matrices.size(1), columns = matrices.size(2);
  const std::int64_t stripes = (columns + width - 1) / width;
  constexpr std::int64_t kElementsPerThread = 1 << 14;
  const std::int64_t grain = 1 + kElementsPerThread / std::max<std::int64_t>(1, rows * width);
  at::parallel_for(0, matrices.size(0) * stripes, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t batch = i / stripes, first = i % stripes * width;
      body(Stripe{batch * rows * columns + first, batch * columns + first, rows, columns,
                  std::min(width, columns - first)});
    }
  });
}

}  // namespace

at::Tensor fast_weight_update(const at::Tensor& weight, const at::Tensor& step,
                              const at::Tensor& norms) {
  const at::Tensor out = at::empty_like(weight);
  const float *w = weight.const_data_ptr<float>(), *g = step.const_data_ptr<float>();
  const float* target = norms.const_data_ptr<float>();
  float* result = out.mutable_data_ptr<float>();
  for_each_stripe(weight, kFastWeightColumns, [&](const Stripe& s) {
    kernels().update({w + s.matrix, g + s.matrix, target + s.vector, result + s.matrix, s.rows,
                      s.stride, s.columns},
                     kFastWeightEpsilon);
  });
  return out;
}

FastWeightUpdateGradients fast_weight_update_backward(const at::Tensor& sum,
                                                      const at::Tensor& norms,
                                                      const at::Tensor& dout) {
  const FastWeightUpdateGradients out{at::empty_like(sum), at::empty_like(norms)};
  const float *s = sum.const_data_ptr<float>(), *d = dout.const_data_ptr<float>();
  const float* target = norms.const_data_ptr<float>();
  float *dsum = out.dsum.mutable_data_ptr<float>(), *dnorms = out.dnorms.mutable_data_ptr<float>();
  for_each_stripe(sum, kColumns, [&](const Stripe& stripe) {
    Columns squares{}, dot{};
    for (std::int64_t row = 0; row < stripe.rows; ++row) {
      const std::int64_t at = stripe.matrix + row * stripe.stride;
      for (std::int64_t c = 0; c < stripe.columns; ++c) {
        squares[c] += static_cast<double>(s[at + c]) * static_cast<double>(s[at + c]);
        dot[c] += static_cast<double>(s[at + c]) * static_cast<double>(d[at + c]);
      }
    }
    Columns scale{}, along{};  // double: the two terms of a sum may nearly cancel
    for (std::int64_t c = 0; c < stripe.columns; ++c) {
      const double length = std::sqrt(squares[c]), divisor = length + kFastWeightEpsilon;
      const auto to = static_cast<double>(target[stripe.vector + c]);
      dnorms[stripe.vector + c] = static_cast<float>(dot[c] / divisor);
      scale[c] = to / divisor;
      along[c] = length > 0 ? dot[c] * to / (divisor * divisor * length) : 0;
    }
    for (std::int64_t row = 0; row < stripe.rows; ++row)
      for (std::int64_t c = 0; c < stripe.columns; ++c) {
        const std::int64_t at = stripe.matrix + row * stripe.stride + c;
        dsum[at] = static_cast<float>(static_cast<double>(d[at]) * scale[c] -
                                      static_cast<double>(s[at]) * along[c]);
      }
  });
  return out;
}

}  // namespace ttt::ops::cpu
