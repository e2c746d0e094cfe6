// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/vision/design_space/block_support.h"

#include "tests/support/compare.h"
#include "tests/support/fill.h"

#include <torch/torch.h>

namespace ttt::test {
namespace {

bool is_inner(const std::string& name) {
  return name == "w1" || name == "w2" || name == "w3" || name == "w_out";
}

}  // namespace

void fill_block(vision::TokenMixer& block, const BlockCase& size) {
  const torch::NoGradGuard no_grad;
  block.to(size.dtype);
  for (auto& parameter : block.named_parameters())
    parameter.value().copy_(
        fill(parameter.key(), parameter.value().sizes(), is_inner(parameter.key()) ? 0.5 : 0.8));
}

BlockRun run_block(const vision::TokenMixer& block, const BlockCase& size,
                   const vision::ForwardContext& context) {
  const at::Tensor x =
      fill("x", {size.batch, size.grid.tokens(), size.dim}).to(size.dtype).requires_grad_();
  BlockRun run{block.forward({x}, size.grid, nullptr, context, "block"), {}};
  std::vector<at::Tensor> inputs{x};
  std::vector<std::string> names{"x"};
  for (const auto& parameter : block.named_parameters()) {
    inputs.push_back(parameter.value());
    names.push_back(parameter.key());
  }
  const at::Tensor weights = fill("dy", run.output.sizes()).to(size.dtype);
  const auto gradients = torch::autograd::grad({(run.output * weights).sum()}, inputs, {}, {},
                                               /*create_graph=*/false, /*allow_unused=*/true);
  for (std::size_t i = 0; i < names.size(); ++i)
    run.gradients[names[i]] =
        gradients[i].defined() ? gradients[i] : at::zeros_like(inputs[i]).detach();
  run.output = run.output.detach();
  return run;
}

void expect_same(const BlockRun& actual, const BlockRun& expected, double tolerance) {
  EXPECT_LE(relative_to_max(actual.output, expected.output), tolerance) << "output";
  ASSERT_EQ(actual.gradients.size(), expected.gradients.size());
  for (const auto& [name, gradient] : expected.gradients) {
    const at::Tensor& other = actual.gradients.at(name);
    if (gradient.abs().max().item<double>() == 0) {
      EXPECT_EQ(other.abs().max().item<double>(), 0) << name;
    } else {
      // Over three epochs of one image the gradients of the rates are sums whose terms nearly
      // cancel: they keep a digit less than the others (4e-5 in float, 1e-10 in double as the
      // rest).
      const bool of_rates = name.starts_with("lr.") && gradient.scalar_type() == at::kFloat;
      EXPECT_LE(relative_to_max(other, gradient), of_rates ? 10 * tolerance : tolerance)
          << "gradient of " << name;
    }
  }
}

}  // namespace ttt::test
