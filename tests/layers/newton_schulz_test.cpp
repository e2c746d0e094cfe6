// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/newton_schulz/newton_schulz.h"

#include "core/error.h"
#include "tests/layers/golden.h"

#include <torch/torch.h>

namespace ttt::ops {
namespace {

using test::max_error;

constexpr const char* kFile = "golden/nvs/core/ns.safetensors";

std::vector<NewtonSchulzStep> steps_of(const std::string& variant) {
  if (variant == "five") return newton_schulz_five();
  return newton_schulz_repeated(variant == "single5" ? 5 : 0);
}

class NewtonSchulzGolden : public testing::TestWithParam<Backend> {};

TEST_P(NewtonSchulzGolden, Float) {
  TTT_REQUIRE_SHARED(kFile);
  const test::Golden golden("core/ns");
  for (const auto& item : golden.cases().items())
    for (const std::string variant : {"single0", "single5", "five"}) {
      SCOPED_TRACE(item.key() + " " + variant);
      const at::Tensor g = golden.read(item.key() + ".G");
      const at::Tensor expected = golden.read(item.key() + "." + variant + ".f64");
      const double tolerance = item.key() == "rank1" ? 5e-5 : 5e-6;
      EXPECT_LE(max_error(newton_schulz(g, {steps_of(variant)}, GetParam()), expected), tolerance);
      // The coefficients and epsilons are those of the reference to all digits.
      EXPECT_LE(max_error(newton_schulz(g.to(at::kDouble), {steps_of(variant)}), expected), 1e-11);
    }
}

TEST_P(NewtonSchulzGolden, Gradients) {
  TTT_REQUIRE_SHARED(kFile);
  const test::Golden golden("core/ns");
  for (const auto& item : golden.cases().items())
    for (const std::string variant : {"single0", "single5", "five"}) {
      const std::string name = item.key() + "." + variant + ".f64.grad.G";
      if (!golden.has(name)) continue;
      SCOPED_TRACE(name);
      const at::Tensor expected = golden.read(name), dx = golden.read(item.key() + ".dX");
      const auto gradient = [&](at::ScalarType dtype, Backend backend) {
        const at::Tensor g = golden.read(item.key() + ".G").to(dtype).requires_grad_();
        newton_schulz(g, {steps_of(variant)}, backend).backward(dx.to(dtype));
        return g.grad();
      };
      const double size = expected.norm().item<double>();
      EXPECT_LE(max_error(gradient(at::kDouble, Backend::automatic), expected), 1e-10 * size);
      EXPECT_LE(max_error(gradient(at::kFloat, GetParam()), expected), 2e-5 * size);
    }
}

TEST_P(NewtonSchulzGolden, Bfloat16) {
  TTT_REQUIRE_SHARED(kFile);
  const test::Golden golden("core/ns");
  for (const auto& item : golden.cases().items()) {
    if (item.key() == "rank1") continue;  // rounding noise, multiplied by a^5
    for (const std::string variant : {"single5", "five"}) {
      SCOPED_TRACE(item.key() + " " + variant);
      const at::Tensor g = golden.read(item.key() + ".G");
      const at::Tensor exact = golden.read(item.key() + "." + variant + ".f64");
      const at::Tensor published = golden.read(item.key() + "." + variant + ".bf16ns");
      const at::Tensor ours = newton_schulz(g, {steps_of(variant), true}, GetParam());
      EXPECT_LE(test::rms_error(ours, exact), 2 * test::rms_error(published, exact) + 1e-7);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, NewtonSchulzGolden,
                         testing::Values(Backend::reference, Backend::cpu),
                         [](const auto& test) { return std::string(to_string(test.param)); });

TEST(NewtonSchulz, PublishedNumbers) {
  const at::Tensor g = at::arange(1, 7, at::kDouble).view({1, 2, 3});
  const auto matrix = [](std::vector<double> values) {
    return at::tensor(values, at::kDouble).view({1, 2, 3});
  };
  const at::Tensor repeated = matrix({-0.568290110143, 0.0577419431156, 0.683773996374,
                                      0.563354697507, 0.405612831033, 0.247870964560});
  const at::Tensor five = matrix({-0.591517906463, 0.110996911471, 0.813511729404, 0.707256094590,
                                  0.560561937137, 0.413867779686});
  EXPECT_LE(max_error(newton_schulz(g, {newton_schulz_repeated(5)}), repeated), 1e-11);
  EXPECT_LE(max_error(newton_schulz(g, {newton_schulz_five()}), five), 1e-11);
  EXPECT_LE(
      max_error(newton_schulz(g.transpose(1, 2), {newton_schulz_five()}), five.transpose(1, 2)),
      1e-11);
}

TEST(NewtonSchulz, FiveStepsOrthogonalise) {
  at::manual_seed(1);
  const at::Tensor x = newton_schulz(at::randn({1, 64, 128}), {newton_schulz_five()});
  const at::Tensor singular = std::get<1>(at::linalg_svd(x));
  EXPECT_NEAR(singular.min().item<double>(), 1, 0.05);
  EXPECT_NEAR(singular.max().item<double>(), 1, 0.05);
}

TEST(NewtonSchulz, SymmetricHalfEqualsTheWhole) {
  // More rows than a block of the products has.
  at::manual_seed(2);
  const at::Tensor g = at::randn({2, 150, 200});
  const at::Tensor exact = newton_schulz(g.to(at::kDouble), {newton_schulz_five()});
  EXPECT_LE(max_error(newton_schulz(g, {newton_schulz_five()}, Backend::cpu), exact), 5e-6);
}

TEST(NewtonSchulz, RefusesVectors) {
  EXPECT_THROW(newton_schulz(at::ones({3}), {newton_schulz_five()}), Error);
  EXPECT_THROW(newton_schulz({}, {newton_schulz_five()}), Error);
  EXPECT_THROW(newton_schulz_repeated(-1), Error);
}

}  // namespace
}  // namespace ttt::ops
