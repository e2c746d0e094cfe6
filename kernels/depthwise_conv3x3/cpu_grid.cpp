// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/depthwise_conv3x3/cpu_grid.h"

#include "kernels/support/cpu_isa.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>

namespace ttt::ops::cpu {
namespace {

// A thread is worth waking for this many outputs.
constexpr std::int64_t kWorkPerThread = 1 << 13;
// Pixels whose sums one task adds up. Fixed, so that results don't depend on the number of threads.
constexpr std::int64_t kPixelsPerTask = 1024;

const DepthwiseKernels& kernels() {
  return select_kernels(baseline::depthwise_kernels, avx2::depthwise_kernels,
                        avx512::depthwise_kernels);
}

/// Address of the first channel of a pixel; null when the tensor is undefined.
char* pixel_at(const at::Tensor& x, std::int64_t b, std::int64_t row, std::int64_t column) {
  if (!x.defined()) return nullptr;
  const std::int64_t offset = b * x.stride(0) + row * x.stride(1) + column * x.stride(2);
  return static_cast<char*>(x.data_ptr()) + offset * static_cast<std::int64_t>(x.element_size());
}

std::int64_t rows_per_thread(const at::Tensor& x) {
  return 1 + kWorkPerThread / std::max<std::int64_t>(1, x.size(-2) * x.size(-1));
}

/// Rows of outputs of [..., w, C], and the kernel that computes them.
class RowTask {
 public:
  RowTask(const at::Tensor& x, const at::Tensor& taps, const at::Tensor& bias,
          const DepthwiseGridOptions& options, const at::Tensor& out)
      : run_(x.scalar_type() == at::kBFloat16 ? kernels().row_bf16 : kernels().row_float),
        zeros_(at::zeros({x.size(-1)}, at::kFloat)),
        stride_(options.stride) {
    shared_.pixel = x.stride(-2);
    shared_.width = x.size(-2);
    shared_.out_width = out.size(-2);
    shared_.channels = x.size(-1);
    shared_.taps = taps.const_data_ptr<float>();
    shared_.bias = (bias.defined() ? bias : zeros_).const_data_ptr<float>();
    shared_.zeros = zeros_.const_data_ptr<float>();
    shared_.out_pixel = out.stride(-2);
    shared_.add_input = options.add_input;
    shared_.epilogue = options.epilogue;
  }
  void set_gradient(const at::Tensor& gradient) { shared_.gradient_pixel = gradient.stride(-2); }

  /// Rows [begin, end); place(row, index) sets the pointers that differ from row to row.
  template <typename Place>
  void run(std::int64_t begin, std::int64_t end, const Place& place) const {
    DepthwiseRow row = shared_;
    for (std::int64_t index = begin; index < end; ++index) {
      place(row, index);
      run_(row, stride_);
    }
  }

 private:
  void (*run_)(const DepthwiseRow& row, std::int64_t stride);
  at::Tensor zeros_;
  std::int64_t stride_;
  DepthwiseRow shared_{};
};

}  // namespace

void correlate_grid(const at::Tensor& x, const at::Tensor& taps, const at::Tensor& bias,
                    const at::Tensor& gradient, const DepthwiseGridOptions& options,
                    const at::Tensor& out) {
  RowTask task(x, taps, bias, options, out);
  if (gradient.defined()) task.set_gradient(gradient);
  const std::int64_t out_height = out.size(1), height = x.size(1);
  const std::int64_t kernel_stride = taps.dim() == 4 ? 9 * x.size(3) : 0;
  const auto place = [&](DepthwiseRow& row, std::int64_t index) {
    const std::int64_t b = index / out_height, y = index % out_height;
    for (std::int64_t i = 0; i < 3; ++i) {
      const std::int64_t in = y * options.stride + i - 1;
      row.rows[i] = in >= 0 && in < height ? pixel_at(x, b, in, 0) : nullptr;
    }
    row.taps = taps.const_data_ptr<float>() + b * kernel_stride;
    row.out = pixel_at(out, b, y, 0);
    row.gradient = pixel_at(gradient, b, y, 0);
  };
  at::parallel_for(0, x.size(0) * out_height, rows_per_thread(out),
                   [&](std::int64_t begin, std::int64_t end) { task.run(begin, end, place); });
}

void correlate_rows(const DepthwiseConvRows& rows, const at::Tensor& taps, const at::Tensor& bias,
                    const DepthwiseGridOptions& options, const at::Tensor& out) {
  const RowTask task(rows.x, taps, bias, options, out);
  const auto row_of = [](const at::Tensor& tensor, std::int64_t index) {
    const std::int64_t offset = index * tensor.stride(0);
    return static_cast<char*>(tensor.data_ptr()) +
           offset * static_cast<std::int64_t>(tensor.element_size());
  };
  const auto place = [&](DepthwiseRow& row, std::int64_t index) {
    const std::int64_t y = (rows.first + index) % rows.height;
    row.rows[0] = y > 0 ? row_of(rows.x, index) : nullptr;
    row.rows[1] = row_of(rows.x, index + 1);
    row.rows[2] = y + 1 < rows.height ? row_of(rows.x, index + 2) : nullptr;
    row.out = row_of(out, index);
  };
  at::parallel_for(0, out.size(0), rows_per_thread(out),
                   [&](std::int64_t begin, std::int64_t end) { task.run(begin, end, place); });
}

at::Tensor tap_sums_grid(const at::Tensor& x, const at::Tensor& factor, std::int64_t stride) {
  const std::int64_t batch = x.size(0), channels = x.size(3);
  const std::int64_t height = factor.size(1), width = factor.size(2);
  if (height == 0 || width == 0) return at::zeros({batch, 10, channels}, at::kFloat);
  const bool bf16 = x.scalar_type() == at::kBFloat16;
  const auto run = bf16 ? kernels().tap_sums_bf16 : kernels().tap_sums_float;
  const std::int64_t rows = std::max<std::int64_t>(1, kPixelsPerTask / width);
  const std::int64_t chunks = (height + rows - 1) / rows;
  const at::Tensor zeros = at::zeros({channels}, at::kFloat);
  const at::Tensor sums = at::empty({batch, chunks, 10, channels}, at::kFloat);
  const std::int64_t grain =
      1 + kWorkPerThread / std::max<std::int64_t>(1, rows * width * channels);
  at::parallel_for(0, batch * chunks, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t b = task / chunks, first = task % chunks * rows;
      run({pixel_at(x, b, 0, 0), x.stride(1), x.stride(2), x.size(1), x.size(2),
           pixel_at(factor, b, 0, 0), factor.stride(1), factor.stride(2), width, first,
           std::min(first + rows, height), channels, stride, zeros.const_data_ptr<float>(),
           sums.data_ptr<float>() + task * 10 * channels});
    }
  });
  return chunks == 1 ? sums.squeeze(1) : sums.sum(1);
}

void spread_grid(const at::Tensor& gradient, const at::Tensor& taps, const at::Tensor& out) {
  const bool bf16 = out.scalar_type() == at::kBFloat16;
  const auto run = bf16 ? kernels().spread_bf16 : kernels().spread_float;
  const std::int64_t height = out.size(1);
  at::parallel_for(0, out.size(0) * height, rows_per_thread(out),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t index = begin; index < end; ++index) {
                       const std::int64_t b = index / height, y = index % height;
                       run({pixel_at(gradient, b, 0, 0), gradient.stride(1), gradient.stride(2),
                            gradient.size(1), gradient.size(2), y, out.size(2), out.size(3),
                            taps.const_data_ptr<float>(), pixel_at(out, b, y, 0), out.stride(2)});
                     }
                   });
}

}  // namespace ttt::ops::cpu
