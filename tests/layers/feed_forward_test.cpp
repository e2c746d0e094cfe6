// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "layers/feed_forward.h"

#include "kernels/registry.h"
#include "kernels/support/cpu_isa.h"

#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <array>

namespace ttt::layers {
namespace {

constexpr auto kGelu = ops::LinearActivation::gelu;
constexpr std::int64_t kDim = 24, kHidden = 70;

struct Parts {
  LayerNorm norm{kDim, 1e-6};
  Linear first{kDim, kHidden}, second{kHidden, kDim};

  explicit Parts(at::ScalarType dtype) {
    const torch::NoGradGuard no_grad;
    for (torch::nn::Module* module :
         std::initializer_list<torch::nn::Module*>{&norm, &first, &second}) {
      for (auto& parameter : module->named_parameters())
        parameter.value().copy_(ops::case_tensor(parameter.key(), parameter.value().sizes(), 0.3));
      module->to(dtype);
    }
    first.pack();
    second.pack();
  }
  bool add(const at::Tensor& x) const {
    return add_feed_forward(x, norm, first, kGelu, second, ops::Backend::automatic);
  }
  at::Tensor in_steps(const at::Tensor& x) const {
    const at::Tensor hidden = at::gelu(at::linear(norm.forward(x), first.weight, first.bias));
    return x + at::linear(hidden, second.weight, second.bias);
  }
};

at::Tensor tokens(at::IntArrayRef shape, at::ScalarType dtype = at::kFloat) {
  return ops::case_tensor("x", shape).to(dtype);
}

TEST(FeedForward, AddsWhatTheStepsCompute) {
  const torch::NoGradGuard no_grad;
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kDouble}) {
    const Parts parts(dtype);
    for (const std::int64_t count : {0, 1, 7, 127, 128, 129, 600}) {
      const at::Tensor x = tokens({2, count, kDim}, dtype);
      const at::Tensor expected = Parts(at::kDouble).in_steps(x.to(at::kDouble));
      ASSERT_TRUE(parts.add(x));
      if (count == 0) continue;
      const double error = (x.to(at::kDouble) - expected).abs().max().item<double>();
      const double bound = dtype == at::kBFloat16 ? 3e-2 : 1e-5;
      EXPECT_LE(error, bound * expected.abs().max().item<double>()) << dtype << ", " << count;
    }
  }
}

TEST(FeedForward, LeavesWhatItCannotComputeAlone) {
  Parts parts(at::kFloat);
  const at::Tensor x = tokens({2, 9, kDim}), before = x.clone();
  EXPECT_FALSE(parts.add(x)) << "with gradients";
  const torch::NoGradGuard no_grad;
  EXPECT_FALSE(parts.add(x.transpose(0, 1))) << "rows that are not one after another";
  EXPECT_FALSE(parts.add(x.to(at::kBFloat16))) << "another dtype than the packed weights'";
  at::autocast::set_autocast_enabled(at::kCPU, true);
  const bool under_autocast = parts.add(x);
  at::autocast::set_autocast_enabled(at::kCPU, false);
  EXPECT_FALSE(under_autocast);
  parts.first.to(at::kDouble);
  EXPECT_FALSE(parts.add(x)) << "weights that were converted after packing";
  EXPECT_TRUE(x.equal(before));
}

struct DepthwiseParts {
  LayerNorm norm{kDim, 1e-5};
  Linear first{kDim, kHidden}, second{kHidden, kDim};
  DepthwiseConv convolution{kHidden};

  explicit DepthwiseParts(at::ScalarType dtype) {
    const torch::NoGradGuard no_grad;
    for (torch::nn::Module* module :
         std::initializer_list<torch::nn::Module*>{&norm, &first, &convolution, &second}) {
      for (auto& parameter : module->named_parameters())
        parameter.value().copy_(ops::case_tensor(parameter.key(), parameter.value().sizes(), 0.3));
      module->to(dtype);
    }
    first.pack();
    convolution.pack();
    second.pack();
  }
  bool add(const at::Tensor& x, ops::Backend backend = ops::Backend::automatic) const {
    return add_depthwise_feed_forward(x, {norm, first, convolution, second}, backend);
  }
  at::Tensor in_steps(const at::Tensor& x) const {
    const at::Tensor hidden = first.forward(x, {.activation = kGelu, .norm = norm.fused()});
    const at::Tensor mixed = convolution.forward(
        hidden, {.add_input = true, .activation = ops::Activation::gelu}, ops::Backend::automatic);
    return second.forward(mixed, {.residual = x});
  }
};

/// Sets the number of threads for one scope.
class ScopedThreads {
 public:
  explicit ScopedThreads(int count) : before_(at::get_num_threads()) { at::set_num_threads(count); }
  ~ScopedThreads() { at::set_num_threads(before_); }

 private:
  int before_;
};

void expect_the_steps(const std::array<std::int64_t, 3>& grid, at::ScalarType dtype, int threads) {
  const DepthwiseParts parts(dtype);
  const ScopedThreads scope(threads);
  const at::Tensor x = tokens({grid[0], grid[1], grid[2], kDim}, dtype);
  const at::Tensor expected = parts.in_steps(x), before = x.clone();
  const bool enough = grid[0] * grid[1] * grid[2] >= 64 * threads;
  EXPECT_EQ(parts.add(x), enough) << x.sizes();
  EXPECT_TRUE(x.equal(enough ? expected : before))
      << x.sizes() << ", " << dtype << ", " << threads << " threads, "
      << ops::to_string(ops::cpu_isa());
}

TEST(DepthwiseFeedForward, AddsTheVeryResultOfTheSteps) {
  const torch::NoGradGuard no_grad;
  for (const ops::CpuIsa isa : ops::kCpuIsas) {
    if (isa > ops::best_cpu_isa()) continue;
    const ops::ScopedCpuIsa scope(isa);
    for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16})
      for (const int threads : {1, 2, 3})
        for (const auto& grid : std::initializer_list<std::array<std::int64_t, 3>>{{1, 1, 1},
                                                                                   {1, 1, 300},
                                                                                   {3, 301, 1},
                                                                                   {1, 67, 3},
                                                                                   {3, 13, 17},
                                                                                   {3, 7, 7},
                                                                                   {3, 28, 28},
                                                                                   {1, 5, 290}})
          expect_the_steps(grid, dtype, threads);
  }
}

TEST(DepthwiseFeedForward, WorksInInferenceMode) {
  const c10::InferenceMode inference;
  expect_the_steps({2, 9, 21}, at::kBFloat16, 3);
}

TEST(DepthwiseFeedForward, LeavesWhatItCannotComputeAlone) {
  DepthwiseParts parts(at::kFloat);
  const at::Tensor x = tokens({2, 20, 20, kDim}), before = x.clone();
  EXPECT_FALSE(parts.add(x)) << "with gradients";
  const torch::NoGradGuard no_grad;
  EXPECT_FALSE(parts.add(x.transpose(0, 1))) << "rows that are not one after another";
  EXPECT_FALSE(parts.add(x.to(at::kBFloat16))) << "another dtype than the packed weights'";
  EXPECT_FALSE(parts.add(x, ops::Backend::reference));
  EXPECT_FALSE(DepthwiseParts(at::kDouble).add(x.to(at::kDouble)));
  at::autocast::set_autocast_enabled(at::kCPU, true);
  const bool under_autocast = parts.add(x);
  at::autocast::set_autocast_enabled(at::kCPU, false);
  EXPECT_FALSE(under_autocast);
  parts.convolution.to(at::kDouble);
  EXPECT_FALSE(parts.add(x)) << "weights that were converted after packing";
  EXPECT_TRUE(x.equal(before));
}

}  // namespace
}  // namespace ttt::layers
