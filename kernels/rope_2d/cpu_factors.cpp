// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/rope_2d/cpu_factors.h"

#include <ATen/ATen.h>

namespace ttt::ops::cpu {
namespace {

/// One axis per channel of its half: cosines (c, c) and sines (-s, s) of every pair.
at::Tensor axis_factors(const at::Tensor& cosine, const at::Tensor& sine, bool inverse) {
  at::Tensor factors = at::empty({2, cosine.size(0), 2 * cosine.size(1)}, at::kFloat);
  const float *c = cosine.const_data_ptr<float>(), *s = sine.const_data_ptr<float>();
  const std::int64_t pairs = cosine.numel();
  float *cosines = factors.data_ptr<float>(), *sines = cosines + 2 * pairs;
  const float sign = inverse ? -1.0F : 1.0F;
  for (std::int64_t i = 0; i < pairs; ++i) {
    cosines[2 * i] = cosines[2 * i + 1] = c[i];
    sines[2 * i] = -sign * s[i];
    sines[2 * i + 1] = sign * s[i];
  }
  return factors;
}

}  // namespace

RopeFactors::RopeFactors(const RopeTable& table, bool inverse)
    : width_(table.width()),
      half_(table.channels() / 2),
      rows_(axis_factors(table.row_cos, table.row_sin, inverse)),
      columns_(axis_factors(table.column_cos, table.column_sin, inverse)) {}

RopeAngles RopeFactors::angles() const {
  const float *rows = rows_.const_data_ptr<float>(), *columns = columns_.const_data_ptr<float>();
  return {rows, rows + rows_.numel() / 2, columns, columns + columns_.numel() / 2, width_, half_};
}

}  // namespace ttt::ops::cpu
