// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/rope_2d/backends.h"
#include "kernels/rope_2d/cpu_kernel.h"
#include "kernels/support/cpu_isa.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>

namespace ttt::ops::cpu {
namespace {

// A thread is worth waking for this many elements.
constexpr std::int64_t kWorkPerThread = 1 << 15;

/// Factors of one axis laid out per channel: cosine (c, c) and sine (-s, s), [positions, C/2] each.
struct AxisFactors {
  AxisFactors(const at::Tensor& cosine, const at::Tensor& sine, bool inverse)
      : cosines(at::stack({cosine, cosine}, -1).flatten(1)),
        sines((inverse ? at::stack({sine, -sine}, -1) : at::stack({-sine, sine}, -1)).flatten(1)),
        channels(cosines.size(1)) {}
  const float* cosine(std::int64_t position) const {
    return cosines.data_ptr<float>() + position * channels;
  }
  const float* sine(std::int64_t position) const {
    return sines.data_ptr<float>() + position * channels;
  }
  at::Tensor cosines, sines;
  std::int64_t channels;
};

}  // namespace

void rope_2d(const at::Tensor& x, const RopeTable& table, bool inverse, const at::Tensor& out) {
  const RopeKernels& kernels =
      select_kernels(baseline::rope_kernels, avx2::rope_kernels, avx512::rope_kernels);
  const AxisFactors rows(table.row_cos, table.row_sin, inverse);
  const AxisFactors columns(table.column_cos, table.column_sin, inverse);
  const std::int64_t tokens = x.size(1), half = table.channels() / 2, width = table.width();
  const auto element = static_cast<std::int64_t>(x.element_size());
  const bool bf16 = x.scalar_type() == at::kBFloat16;
  const auto rotate = [&](const char* from, const AxisFactors& axis, std::int64_t position,
                          char* to) {
    if (bf16) {
      kernels.rotate_bf16(from, axis.cosine(position), axis.sine(position), half, to);
    } else {
      kernels.rotate_float(reinterpret_cast<const float*>(from), axis.cosine(position),
                           axis.sine(position), half, reinterpret_cast<float*>(to));
    }
  };
  const std::int64_t grain = 1 + kWorkPerThread / std::max<std::int64_t>(1, table.channels());
  at::parallel_for(0, x.size(0) * tokens, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t b = i / tokens, n = i % tokens;
      const char* from = static_cast<const char*>(x.const_data_ptr()) +
                         (b * x.stride(0) + n * x.stride(1)) * element;
      char* to =
          static_cast<char*>(out.data_ptr()) + (b * out.stride(0) + n * out.stride(1)) * element;
      rotate(from, rows, n / width, to);
      rotate(from + half * element, columns, n % width, to + half * element);
    }
  });
}

}  // namespace ttt::ops::cpu
