// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// GELU of every bfloat16 number, behind a linear map and behind a convolution.
#include "kernels/depthwise_conv3x3/depthwise_conv3x3.h"
#include "kernels/linear/linear.h"
#include "kernels/support/cpu_isa.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace ttt::ops {
namespace {

/// [65280]: all bfloat16 numbers that are finite.
at::Tensor finite_numbers() {
  const at::Tensor bits = at::arange(-32768, 32768, at::kShort);
  const at::Tensor numbers = bits.view(at::kBFloat16);
  return numbers.index({numbers.isfinite()}).contiguous();
}

at::Tensor behind_linear(const at::Tensor& x) {
  const at::Tensor one = at::ones({1, 1}, x.options());
  return linear(x.view({-1, 1}), one, {}, {.activation = LinearActivation::gelu}).flatten();
}

at::Tensor behind_convolution(const at::Tensor& x) {
  const std::int64_t count = x.numel();
  return depthwise_conv3x3(x.view({1, 1, 1, count}), at::zeros({count, 1, 3, 3}, x.options()), {},
                           {.add_input = true, .activation = Activation::gelu})
      .flatten();
}

void expect_gelu(const at::Tensor& y, const at::Tensor& x, const std::string& where) {
  // Rounding to bfloat16, and a fifth of that for the function.
  constexpr double kRelative = 1.2 / 256;
  // Where the function vanishes on the left: 1 + erf in float loses digits, the table doesn't.
  const double absolute = cpu_isa() == CpuIsa::avx512 ? 5e-9 : 5e-7;
  const at::Tensor got = y.to(at::kFloat), from = x.to(at::kFloat);
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const double z = from.const_data_ptr<float>()[i];
    const double expected = 0.5 * z * std::erfc(-z / std::sqrt(2.0));
    const double error = std::abs(got.const_data_ptr<float>()[i] - expected);
    ASSERT_LE(error, kRelative * std::abs(expected) + absolute) << where << ": gelu(" << z << ")";
  }
}

TEST(Gelu, OfEveryBfloat16NumberIsThatOfDouble) {
  const at::Tensor x = finite_numbers();
  ASSERT_EQ(x.numel(), 65280);
  for (const CpuIsa isa : kCpuIsas) {
    if (isa > best_cpu_isa()) continue;
    const ScopedCpuIsa scope(isa);
    expect_gelu(behind_linear(x), x, "linear, " + std::string(to_string(isa)));
    expect_gelu(behind_convolution(x), x, "convolution, " + std::string(to_string(isa)));
  }
}

TEST(Gelu, LetsNotANumberThrough) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const at::Tensor x = at::full({40}, nan, dtype);
    EXPECT_TRUE(behind_linear(x).isnan().all().item<bool>());
    EXPECT_TRUE(behind_convolution(x).isnan().all().item<bool>());
  }
}

}  // namespace
}  // namespace ttt::ops
