// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/roofline.h"

#include "apps/bench/measure.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <array>

namespace ttt::cli {
namespace {

struct Candidate {
  std::function<void()> product;
  double operations = 0;
};

/// Rows, inner and outer width: a linear layer of our models, and a product that suits any
/// blocking.
constexpr std::array<std::array<std::int64_t, 3>, 2> kShapes{
    {{1568, 768, 768}, {1024, 1024, 1024}}};

/// oneDNN's product with weights in its own order; empty where this LibTorch doesn't have it.
/// LibTorch's plain fp32 product is MKL's, which is slow on processors of other makers.
std::function<void()> prepacked_product(const at::Tensor& x, const at::Tensor& w) {
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  const auto pack = dispatcher.findSchema({"mkldnn::_reorder_linear_weight", ""});
  const auto linear = dispatcher.findSchema({"mkldnn::_linear_pointwise", ""});
  if (!pack || !linear || x.device().type() != c10::DeviceType::CPU) return {};
  torch::jit::Stack packing{w, x.size(0)};
  pack->callBoxed(packing);
  const at::Tensor packed = packing.at(0).toTensor();
  return [x, packed, linear = *linear] {
    torch::jit::Stack stack{
        x, packed, c10::IValue(), "none", c10::List<std::optional<at::Scalar>>(), std::string()};
    linear.callBoxed(stack);
  };
}

void add_candidates(std::vector<Candidate>& candidates, c10::Device device, at::ScalarType dtype) {
  for (const auto& [rows, inner, outer] : kShapes) {
    const at::Tensor x = at::randn({rows, inner}).to(device, dtype);
    const at::Tensor w = at::randn({outer, inner}).to(device, dtype);
    const double operations = 2.0 * static_cast<double>(rows * inner * outer);
    const auto synchronized = [device](std::function<void()> product) -> std::function<void()> {
      if (device.type() == c10::DeviceType::CPU) return product;
      return [device, product = std::move(product)] {
        product();
        c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
      };
    };
    candidates.push_back({synchronized([x, w] { at::matmul(x, w.t()); }), operations});
    try {
      if (auto product = prepacked_product(x, w)) candidates.push_back({product, operations});
    } catch (const c10::Error&) {  // a processor or type that oneDNN doesn't take: one less
    }
  }
}

}  // namespace

Roofline::Roofline(c10::Device device, at::ScalarType dtype) {
  const c10::InferenceMode inference;
  std::vector<Candidate> candidates;
  add_candidates(candidates, device, dtype);
  double best = 0;
  for (const Candidate& candidate : candidates) {
    const Samples samples = measure(candidate.product, {.warm_up = 0, .repetitions = 3});
    if (samples.seconds.empty()) return;  // interrupted
    const double rate = candidate.operations / samples.seconds.front();
    if (rate <= best) continue;
    best = rate;
    product_ = candidate.product;
    operations_ = candidate.operations;
  }
}

void Roofline::sample() {
  if (!product_) return;
  const c10::InferenceMode inference;
  const Samples samples = measure(product_, {.warm_up = 0, .repetitions = 3});
  for (const double seconds : samples.seconds) rates_.push_back(operations_ / seconds * 1e-9);
}

double Roofline::gflops() const {
  Samples rates{rates_};
  std::sort(rates.seconds.begin(), rates.seconds.end());
  return rates.quantile(0.5);
}

}  // namespace ttt::cli
