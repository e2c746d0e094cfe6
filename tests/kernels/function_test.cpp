// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// The vectorised elementary functions, seen through ops that apply nothing else.
#include "kernels/depthwise_conv3x3/depthwise_conv3x3.h"
#include "kernels/registry.h"
#include "kernels/support/cpu_isa.h"
#include "kernels/ttt_gated_linear/ttt_gated_linear.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

namespace ttt::ops {
namespace {

class Functions : public testing::TestWithParam<CpuIsa> {
 protected:
  void SetUp() override {
    if (GetParam() > best_cpu_isa()) GTEST_SKIP() << "not on this processor";
    set_cpu_isa(GetParam());
  }
  void TearDown() override { set_cpu_isa(std::nullopt); }
};

at::Tensor arguments(double limit) {
  return at::linspace(-limit, limit, 20001, at::kFloat);
}

/// Largest error in units of the last place of max(|expected|, floor).
double error_in_ulps(const at::Tensor& actual, const at::Tensor& expected, double floor) {
  const at::Tensor unit = expected.abs().clamp_min(floor) * std::numeric_limits<float>::epsilon();
  return ((actual.to(at::kDouble) - expected).abs() / unit).max().item<double>();
}

at::Tensor gelu_of(const at::Tensor& x) {
  const at::Tensor identity = at::zeros({1, 1, 3, 3});
  identity[0][0][1][1].fill_(1);
  return depthwise_conv3x3(x.view({1, 1, -1, 1}), identity, {}, {1, false, Activation::gelu},
                           Backend::cpu)
      .view(-1);
}

/// x * silu(x)
at::Tensor gated_of(const at::Tensor& x) {
  const at::Tensor one = at::ones({1, 1, 1, 1});
  return gated_linear_apply(x.view({1, -1, 1}), {one, one}, Backend::cpu).view(-1);
}

TEST_P(Functions, Gelu) {
  for (const double limit : {0.01, 6.0, 100.0}) {
    const at::Tensor x = arguments(limit), exact = x.to(at::kDouble);
    EXPECT_LE(error_in_ulps(gelu_of(x.abs()), at::gelu(exact.abs()), 0), 4.0) << limit;
    // Left of zero 1 + erf cancels; what remains is measured against x.
    EXPECT_LE(((gelu_of(x).to(at::kDouble) - at::gelu(exact)).abs() / (exact.abs() + 1e-3))
                  .max()
                  .item<double>(),
              3e-7)
        << limit;
  }
}

TEST_P(Functions, SigmoidOverTheWholeRange) {
  for (const double limit : {0.01, 10.0, 80.0}) {
    const at::Tensor x = arguments(limit), exact = x.to(at::kDouble);
    EXPECT_LE(error_in_ulps(gated_of(x), exact * at::silu(exact), 1e-30), 6.0) << limit;
  }
}

/// Widths of one vector, of some, and of parts of one.
TEST_P(Functions, GatedApplyMayTakeThePlaceOfItsQueries) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16})
    for (const std::int64_t d : {1, 5, 16, 33, 72}) {
      const at::Tensor w1 = case_tensor("w1", {2, 3, d, d}, 0.3).to(at::kFloat);
      const at::Tensor w2 = case_tensor("w2", {2, 3, d, d}, 0.3).to(at::kFloat);
      const at::Tensor wide = case_tensor("q", {2, 70, 3 * d + 7}).to(dtype), kept = wide.clone();
      const at::Tensor q = wide.narrow(2, 4, 3 * d);
      const at::Tensor expected = gated_linear_apply(q, {w1, w2}, Backend::cpu);
      gated_linear_apply_out(q, {w1, w2}, q, Backend::cpu);
      EXPECT_TRUE(q.equal(expected)) << dtype << ", " << d;
      EXPECT_TRUE(wide.narrow(2, 0, 4).equal(kept.narrow(2, 0, 4)));
      EXPECT_TRUE(wide.narrow(2, 3 * d + 4, 3).equal(kept.narrow(2, 3 * d + 4, 3)));
    }
}

TEST_P(Functions, FarAndSpecialArguments) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const at::Tensor x = at::tensor({-1e30F, -1000.F, -90.F, 0.F, 90.F, 1000.F, 1e15F});
  const at::Tensor y = gated_of(x);
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(y[i].item<float>(), 0, 1e-30) << i;
  EXPECT_EQ(y[3].item<float>(), 0);
  for (int i = 4; i < 7; ++i)
    EXPECT_FLOAT_EQ(y[i].item<float>(), x[i].item<float>() * x[i].item<float>()) << i;
  EXPECT_EQ(gelu_of(at::tensor({-1e30F, 1e30F}))[1].item<float>(), 1e30F);
  EXPECT_EQ(gelu_of(at::tensor({-1e30F, 1e30F}))[0].item<float>(), 0);
  EXPECT_EQ(gelu_of(at::tensor({kInfinity, 1.F}))[0].item<float>(), kInfinity);
  const at::Tensor with_nan = at::tensor({std::numeric_limits<float>::quiet_NaN(), 1.F});
  EXPECT_TRUE(gated_of(with_nan).isnan()[0].item<bool>());
  EXPECT_TRUE(gelu_of(with_nan).isnan()[0].item<bool>());
}

INSTANTIATE_TEST_SUITE_P(Isas, Functions,
                         testing::Values(CpuIsa::baseline, CpuIsa::avx2, CpuIsa::avx512),
                         [](const auto& test) { return std::string(to_string(test.param)); });

}  // namespace
}  // namespace ttt::ops
