// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/rope_2d/backends.h"
#include "kernels/rope_2d/cpu_factors.h"
#include "kernels/rope_2d/cpu_kernel.h"
#include "kernels/support/cpu_isa.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>

namespace ttt::ops::cpu {
namespace {

// A thread is worth waking for this many elements.
constexpr std::int64_t kWorkPerThread = 1 << 15;

}  // namespace

void rope_2d(const at::Tensor& x, const RopeTable& table, bool inverse, const at::Tensor& out) {
  const RopeKernels& kernels =
      select_kernels(baseline::rope_kernels, avx2::rope_kernels, avx512::rope_kernels);
  const auto rotate = x.scalar_type() == at::kBFloat16 ? kernels.rotate_bf16 : kernels.rotate_float;
  const RopeFactors factors(table, inverse);
  const RopeAngles angles = factors.angles();
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
              angles.half, angles.row_cosine + y * angles.half, angles.row_sine + y * angles.half,
              angles.column_cosine, angles.column_sine});
    }
  });
}

}  // namespace ttt::ops::cpu
