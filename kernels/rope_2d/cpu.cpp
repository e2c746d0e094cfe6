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

/// Factors of one axis laid out per channel: cosines (c, c) and sines (-s, s) of every pair.
class AxisFactors {
 public:
  AxisFactors(const at::Tensor& cosine, const at::Tensor& sine, bool inverse)
      : half_(2 * cosine.size(1)),
        size_(cosine.size(0) * half_),
        factors_(at::empty({2 * size_}, at::kFloat)) {
    const float *c = cosine.const_data_ptr<float>(), *s = sine.const_data_ptr<float>();
    float *cosines = factors_.data_ptr<float>(), *sines = cosines + size_;
    const float sign = inverse ? -1.0F : 1.0F;
    for (std::int64_t i = 0; i < size_ / 2; ++i) {
      cosines[2 * i] = cosines[2 * i + 1] = c[i];
      sines[2 * i] = -sign * s[i];
      sines[2 * i + 1] = sign * s[i];
    }
  }
  const float* cosine(std::int64_t position) const {
    return factors_.const_data_ptr<float>() + position * half_;
  }
  const float* sine(std::int64_t position) const { return cosine(position) + size_; }

 private:
  std::int64_t half_, size_;
  at::Tensor factors_;
};

}  // namespace

void rope_2d(const at::Tensor& x, const RopeTable& table, bool inverse, const at::Tensor& out) {
  const RopeKernels& kernels =
      select_kernels(baseline::rope_kernels, avx2::rope_kernels, avx512::rope_kernels);
  const auto rotate = x.scalar_type() == at::kBFloat16 ? kernels.rotate_bf16 : kernels.rotate_float;
  const AxisFactors rows(table.row_cos, table.row_sin, inverse);
  const AxisFactors columns(table.column_cos, table.column_sin, inverse);
  const std::int64_t height = table.height(), width = table.width();
  const auto token = [&](const at::Tensor& tensor, std::int64_t b, std::int64_t n) {
    return static_cast<char*>(tensor.data_ptr()) +
           (b * tensor.stride(0) + n * tensor.stride(1)) *
               static_cast<std::int64_t>(tensor.element_size());
  };
  const std::int64_t grain =
      1 + kWorkPerThread / std::max<std::int64_t>(1, width * table.channels());
  at::parallel_for(0, x.size(0) * height, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t b = i / height, y = i % height;
      rotate({token(x, b, y * width), x.stride(1), token(out, b, y * width), out.stride(1), width,
              table.channels() / 2, rows.cosine(y), rows.sine(y), columns.cosine(0),
              columns.sine(0)});
    }
  });
}

}  // namespace ttt::ops::cpu
