// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// The gated map that rotates while it reads, against rotation before it: the same bits.
#include "kernels/registry.h"
#include "kernels/support/cpu_isa.h"
#include "kernels/ttt_gated_linear/ttt_gated_linear.h"
#include "tests/kernels/usage_error.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <tuple>
#include <vector>

namespace ttt::ops {
namespace {

struct Shape {
  std::int64_t batch, height, width, heads, d;
};

/// x is read both as keys and as queries.
struct Arguments {
  at::Tensor x, v, w1, w2;
  RopeTable table;
};

Arguments make(const Shape& s, at::ScalarType dtype) {
  const std::int64_t tokens = s.height * s.width, channels = s.heads * s.d;
  const auto leaf = [](const char* name, at::IntArrayRef shape, at::ScalarType type) {
    return case_tensor(name, shape).to(type).detach().clone().requires_grad_();
  };
  return {
      leaf("x", {s.batch, tokens, channels}, dtype), leaf("v", {s.batch, tokens, channels}, dtype),
      leaf("w1", {1, s.heads, s.d, s.d}, at::kFloat),
      leaf("w2", {1, s.heads, s.d, s.d}, at::kFloat), make_rope_table(s.height, s.width, channels)};
}

/// Results of both calls, and their gradients.
std::vector<at::Tensor> results(const Arguments& a, Backend backend, bool while_reading) {
  const RopeTable* rope = while_reading ? &a.table : nullptr;
  const auto rotated = [&] { return while_reading ? a.x : rope_2d(a.x, a.table, backend); };
  const InnerWeights weights = gated_linear_step(rotated(), a.v, a.w1, a.w2, backend, rope);
  const at::Tensor out =
      gated_linear_apply(rotated(), {a.w1.detach(), a.w2.detach()}, backend, rope);
  std::vector<at::Tensor> all{weights.w1, weights.w2, out};
  const auto gradients = torch::autograd::grad(
      {weights.w1, weights.w2}, {a.x, a.v, a.w1, a.w2},
      {case_tensor("d1", weights.w1.sizes()), case_tensor("d2", weights.w2.sizes())});
  all.insert(all.end(), gradients.begin(), gradients.end());
  all.push_back(torch::autograd::grad({out}, {a.x},
                                      {case_tensor("dout", out.sizes()).to(out.scalar_type())})[0]);
  return all;
}

class Rotated : public testing::TestWithParam<std::tuple<CpuIsa, at::ScalarType>> {
 protected:
  void SetUp() override {
    if (std::get<0>(GetParam()) > best_cpu_isa()) GTEST_SKIP() << "not on this processor";
    set_cpu_isa(std::get<0>(GetParam()));
  }
  void TearDown() override { set_cpu_isa(std::nullopt); }
};

TEST_P(Rotated, WhileReadingGivesTheBitsOfBefore) {
  // Heads within a half of the channels and over both; vectors and parts of them; an odd width;
  // several tasks of tokens.
  for (const Shape& shape :
       {Shape{2, 3, 4, 2, 16}, Shape{1, 5, 1, 3, 20}, Shape{1, 1, 9, 1, 72}, Shape{2, 2, 5, 4, 3},
        Shape{1, 4, 4, 8, 2}, Shape{1, 29, 37, 2, 32}, Shape{1, 1, 1, 1, 4}})
    for (const Backend backend : {Backend::reference, Backend::cpu}) {
      const Arguments a = make(shape, std::get<1>(GetParam()));
      const std::vector<at::Tensor> before = results(a, backend, false);
      const std::vector<at::Tensor> reading = results(a, backend, true);
      for (std::size_t i = 0; i < before.size(); ++i)
        EXPECT_TRUE(reading[i].equal(before[i]))
            << "result " << i << ", " << a.x.sizes() << ", heads of " << shape.d;
    }
}

INSTANTIATE_TEST_SUITE_P(Isas, Rotated,
                         testing::Combine(testing::Values(CpuIsa::baseline, CpuIsa::avx2,
                                                          CpuIsa::avx512),
                                          testing::Values(at::kFloat, at::kBFloat16)));

TEST(RotatedOp, MayReplaceItsQueries) {
  const at::NoGradGuard no_gradients;
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
    const Arguments a = make({2, 5, 8, 2, 20}, dtype);
    const at::Tensor expected = gated_linear_apply(a.x, {a.w1, a.w2}, Backend::cpu, &a.table);
    const at::Tensor x = a.x.clone();
    gated_linear_apply_out(x, {a.w1, a.w2}, x, Backend::cpu, &a.table);
    EXPECT_TRUE(x.equal(expected)) << dtype;
  }
}

TEST(RotatedOp, RefusesATableThatDoesNotFit) {
  const Arguments a = make({1, 2, 3, 2, 4}, at::kFloat);
  const auto step = [&](const RopeTable& table) {
    return [&a, table] { gated_linear_step(a.x, a.v, a.w1, a.w2, Backend::automatic, &table); };
  };
  const auto apply = [&](const RopeTable& table) {
    return [&a, table] { gated_linear_apply(a.x, {a.w1, a.w2}, Backend::automatic, &table); };
  };
  for (const RopeTable& table :
       {make_rope_table(2, 2, 8), make_rope_table(3, 3, 8), make_rope_table(2, 3, 12)}) {
    test::expect_usage_error(step(table), "x is [1, 6, 8]");
    test::expect_usage_error(apply(table), "x is [1, 6, 8]");
  }
  test::expect_usage_error(step({}), "row_cos");
}

}  // namespace
}  // namespace ttt::ops
