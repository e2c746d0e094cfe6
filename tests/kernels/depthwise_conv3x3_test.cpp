// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// The op beyond the registry's cases: packed parameters, rows of a stack of grids, errors.
#include "kernels/depthwise_conv3x3/depthwise_conv3x3.h"

#include "core/error.h"
#include "kernels/registry.h"
#include "kernels/support/cpu_isa.h"
#include "tests/kernels/usage_error.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <string_view>

namespace ttt::ops {
namespace {

using test::expect_usage_error;

constexpr DepthwiseConvOptions kMlp{1, true, Activation::gelu};

struct Tensors3 {
  at::Tensor x, weight, bias;
};

Tensors3 tensors(at::IntArrayRef shape, at::ScalarType dtype = at::kFloat) {
  const std::int64_t channels = shape.back();
  return {case_tensor("x", shape).to(dtype),
          case_tensor("weight", {channels, 1, 3, 3}, 0.3).to(dtype),
          case_tensor("bias", {channels}).to(dtype)};
}

TEST(PackedDepthwiseConv, GivesTheVeryResultOfTheWeights) {
  for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16, at::kDouble})
    for (const std::int64_t stride : {1, 2})
      for (const bool bias : {true, false}) {
        const Tensors3 t = tensors({2, 5, 9, 37}, dtype);
        const DepthwiseConvOptions options{stride, stride == 1, Activation::relu};
        const at::Tensor b = bias ? t.bias : at::Tensor();
        const PackedDepthwiseConv packed(t.weight, b, dtype);
        EXPECT_TRUE(depthwise_conv3x3(t.x, packed, options)
                        .equal(depthwise_conv3x3(t.x, t.weight, b, options)))
            << dtype << ", stride " << stride;
      }
}

TEST(PackedDepthwiseConv, RefusesWhatDoesNotFit) {
  const Tensors3 t = tensors({1, 3, 3, 8});
  const PackedDepthwiseConv packed(t.weight, t.bias, at::kFloat);
  expect_usage_error([&] { depthwise_conv3x3(t.x, PackedDepthwiseConv()); }, "empty");
  expect_usage_error([&] { depthwise_conv3x3(t.x.to(at::kBFloat16), packed); }, "packed for");
  expect_usage_error([&] { depthwise_conv3x3(t.x.narrow(3, 0, 7), packed); }, "weight");
  expect_usage_error([&] { depthwise_conv3x3(t.x, packed, {3}); }, "stride 3");
  expect_usage_error([&] { depthwise_conv3x3(t.x.clone().requires_grad_(), packed); }, "gradient");
  expect_usage_error([&] { PackedDepthwiseConv(t.weight.squeeze(1), t.bias, at::kFloat); },
                     "weight");
  expect_usage_error([&] { PackedDepthwiseConv(t.weight, t.bias.narrow(0, 0, 3), at::kFloat); },
                     "bias");
}

/// The rows of all grids, computed in bands of `band`; what lies around x is not a number.
at::Tensor in_bands(const Tensors3& t, std::int64_t band) {
  const std::int64_t height = t.x.size(1), rows = t.x.size(0) * height;
  const at::Tensor around = at::full({rows + 2, t.x.size(2), t.x.size(3) + 5}, NAN, t.x.options());
  const at::Tensor stack = around.narrow(2, 5, t.x.size(3));
  stack.narrow(0, 1, rows).copy_(t.x.flatten(0, 1));
  const PackedDepthwiseConv packed(t.weight, t.bias, t.x.scalar_type());
  const at::Tensor out = at::empty_like(t.x).flatten(0, 1);
  for (std::int64_t first = 0; first < rows; first += band) {
    const std::int64_t count = std::min(band, rows - first);
    depthwise_conv3x3_rows({stack.narrow(0, first, count + 2), first, height}, packed, kMlp,
                           out.narrow(0, first, count));
  }
  return out.view_as(t.x);
}

TEST(DepthwiseConvRows, AreThoseOfTheGrids) {
  for (const CpuIsa isa : kCpuIsas) {
    if (isa > best_cpu_isa()) continue;
    const ScopedCpuIsa scope(isa);
    for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16})
      for (const auto& shape : std::initializer_list<std::array<std::int64_t, 4>>{
               {1, 1, 1, 3}, {3, 1, 5, 16}, {2, 6, 1, 13}, {3, 5, 9, 40}, {2, 7, 14, 33}}) {
        const Tensors3 t = tensors(shape, dtype);
        const at::Tensor expected = depthwise_conv3x3(t.x, t.weight, t.bias, kMlp);
        for (const std::int64_t band : {1, 2, 4, 100})
          EXPECT_TRUE(in_bands(t, band).equal(expected))
              << to_string(isa) << ", " << dtype << ", " << t.x.sizes() << ", bands of " << band;
      }
  }
}

TEST(DepthwiseConvRows, RefuseWhatDoesNotFit) {
  const Tensors3 t = tensors({4, 6, 8});
  const PackedDepthwiseConv packed(t.weight, t.bias, at::kFloat);
  const at::Tensor out = at::empty({2, 6, 8});
  const auto run = [&](const DepthwiseConvRows& rows, const DepthwiseConvOptions& options,
                       const at::Tensor& to) {
    return [&packed, rows, options, to] { depthwise_conv3x3_rows(rows, packed, options, to); };
  };
  run({t.x, 0, 3}, kMlp, out)();
  expect_usage_error(run({t.x.narrow(0, 0, 3), 0, 3}, kMlp, out), "x is [3, 6, 8]");
  expect_usage_error(run({t.x, 0, 3}, kMlp, out.narrow(1, 0, 5)), "x is [4, 6, 8]");
  expect_usage_error(run({t.x, 0, 3}, kMlp, at::empty({2, 6, 7})), "out is [2, 6, 7]");
  expect_usage_error(run({t.x, 0, 3}, kMlp, out.to(at::kBFloat16)), "out is BFloat16");
  expect_usage_error(run({t.x, 0, 3}, {2}, out), "stride 2");
  expect_usage_error(run({t.x, 0, 0}, kMlp, out), "grids of 0 rows");
  expect_usage_error(run({t.x, -1, 3}, kMlp, out), "rows from -1");
  expect_usage_error(run({t.x.clone().requires_grad_(), 0, 3}, kMlp, out), "gradient");
}

}  // namespace
}  // namespace ttt::ops
