// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// The official code's numbers for the fast-weight operations: outputs, states and gradients.
#include "layers/lact/lact.h"
#include "tests/layers/golden.h"

#include <torch/torch.h>

#include <algorithm>

namespace ttt::layers {
namespace {

using nlohmann::json;
using ops::Backend;
using ops::SwigluMatrices;
using test::Golden;
using test::max_error;

/// One case as our layer takes it: heads are samples of the golden batch, layout in_out.
struct Case {
  Case(const Golden& golden, const std::string& name, const json& description, at::ScalarType dtype)
      : out_in(description["layout"] == "out_in") {
    const std::string inputs = description.value("inputs", name);
    const auto read = [&](const std::string& tensor) {
      return golden.read(inputs + "." + tensor).to(dtype);
    };
    tokens.q = read("q");
    tokens.k = read("k");
    tokens.v = read("v");
    rates = {read("lr0"), read("lr1"), read("lr2")};  // [B, L, 1] each
    if (golden.has(inputs + ".momentum")) tokens.momentum = read("momentum");
    weights = {read("w0"), read("w1"), read("w2")};
    options.orthogonalise = !description["ns"].is_null();
    if (options.orthogonalise)
      options.steps = description["ns"]["coefficients"] == "five"
                          ? ops::newton_schulz_five()
                          : ops::newton_schulz_repeated(description["ns"]["steps"]);
    options.detach_norms = description.value("reference_norm_detached", !out_in);
  }
  void require_gradients() {
    for (const at::Tensor& t : {tokens.q, tokens.k, tokens.v, tokens.momentum, rates[0], rates[1],
                                rates[2], weights.w0, weights.w1, weights.w2})
      if (t.defined()) t.requires_grad_();
  }
  SwigluMatrices in_layout(const SwigluMatrices& m) const { return out_in ? transposed(m) : m; }
  FastWeights start() const {
    return {in_layout({weights.w0.unsqueeze(1), weights.w1.unsqueeze(1), weights.w2.unsqueeze(1)}),
            {},
            {}};
  }
  LactResult run(const LactSchedule& schedule, const FastWeights& from) const {
    LactTokens all = tokens;
    all.rates = at::stack({rates[0], rates[1], rates[2]}, 2);  // [B, L, 3, 1]
    return run_lact(from, all, schedule, options);
  }
  /// A matrix of a state as the golden file has it.
  SwigluMatrices stored(const SwigluMatrices& m) const {
    const SwigluMatrices rows = in_layout(m);
    return {rows.w0.squeeze(1), rows.w1.squeeze(1), rows.w2.squeeze(1)};
  }

  bool out_in;
  LactTokens tokens;
  std::vector<at::Tensor> rates;
  SwigluMatrices weights;
  LactOptions options;
};

LactSchedule schedule_of(const json& operations) {
  LactSchedule schedule;
  for (const json& o : operations)
    schedule.push_back({o[0], o[1], o[2].get<int>() != 0, o[3].get<int>() != 0});
  return schedule;
}

struct Limits {
  double output, weights;
};

void expect_state(const Golden& golden, const std::string& prefix, const SwigluMatrices& actual,
                  const char* letter, double tolerance) {
  const at::Tensor* matrices[] = {&actual.w0, &actual.w1, &actual.w2};
  for (int i = 0; i < 3; ++i) {
    const std::string name = prefix + letter + std::to_string(i);
    EXPECT_LE(max_error(*matrices[i], golden.read(name)), tolerance) << name;
  }
}

struct Run {
  at::ScalarType dtype;
  Backend backend;
};

class LactGolden : public testing::TestWithParam<Run> {
 protected:
  bool exact() const { return GetParam().dtype == at::kDouble; }
};

TEST_P(LactGolden, NovelViewOperation) {
  TTT_REQUIRE_SHARED("golden/nvs/core/nvs_core.safetensors");
  const Golden golden("core/nvs_core");
  for (const auto& item : golden.cases().items()) {
    SCOPED_TRACE(item.key());
    const json& description = item.value();
    Case c(golden, item.key(), description, GetParam().dtype);
    c.options.backend = GetParam().backend;
    FastWeights state = c.start();
    const std::int64_t enough =
        2 * std::min(description["D"].get<std::int64_t>(), description["h"].get<std::int64_t>());
    int call = 0;
    for (const json& operations : description["ops_per_call"]) {
      const LactSchedule schedule = schedule_of(operations);
      const bool full = std::all_of(schedule.begin(), schedule.end(), [&](const auto& o) {
        return !o.update || o.end - o.begin >= enough;
      });
      const Limits limits = exact() ? Limits{1e-9, 1e-6}
                            : full  ? Limits{1e-5, 2e-5}
                                    : Limits{5e-5, 1e-4};
      LactResult result = c.run(schedule, state);
      const std::string prefix = item.key() + ".f64.call" + std::to_string(call++) + ".";
      EXPECT_LE(max_error(result.output, golden.read(prefix + "out")), limits.output);
      expect_state(golden, prefix, c.stored(result.state.weights), "w", limits.weights);
      state = std::move(result.state);
    }
  }
}

TEST_P(LactGolden, RawGradients) {
  TTT_REQUIRE_SHARED("golden/nvs/core/nvs_core.safetensors");
  const Golden golden("core/nvs_core");
  int compared = 0;
  for (const auto& item : golden.cases().items()) {
    if (!item.value().contains("stores_gradients")) continue;
    SCOPED_TRACE(item.key());
    const Case c(golden, item.key(), item.value(), GetParam().dtype);
    const SwigluMatrices g = ops::swiglu_gradient(
        c.tokens.k, c.tokens.v, at::stack({c.rates[0], c.rates[1], c.rates[2]}, 2),
        c.start().weights, GetParam().backend);
    expect_state(golden, item.key() + ".f64.", c.stored(g), "G", exact() ? 1e-10 : 2e-6);
    ++compared;
  }
  EXPECT_GE(compared, 3);
}

/// The two functions of the minimal code, by their names in the description.
LactSchedule minimal_schedule(const json& description) {
  const std::int64_t tokens = description["L"];
  if (description["chunk"].is_null()) return bidirectional_schedule(tokens);
  return shifted_schedule(tokens, description["chunk"]);
}

TEST_P(LactGolden, MinimalOperation) {
  TTT_REQUIRE_SHARED("golden/nvs/core/minimal_core.safetensors");
  const Golden golden("core/minimal_core");
  for (const auto& item : golden.cases().items()) {
    SCOPED_TRACE(item.key());
    Case c(golden, item.key(), item.value(), GetParam().dtype);
    c.options.backend = GetParam().backend;
    c.options.published_defect = item.key() == "bidir_published";
    const LactResult result = c.run(minimal_schedule(item.value()), c.start());
    const std::string prefix = item.key() + ".f64.";
    EXPECT_LE(max_error(result.output, golden.read(prefix + "out")), exact() ? 1e-9 : 5e-5);
    expect_state(golden, prefix, c.stored(result.state.weights), "w", exact() ? 1e-6 : 1e-4);
    if (golden.has(prefix + "m0") && result.state.has_momentum())
      expect_state(golden, prefix, c.stored(result.state.momentum), "m", exact() ? 1e-6 : 1e-5);
  }
}

LactSchedule gradient_schedule(const json& description) {
  const std::int64_t tokens = description["L"];
  if (description.contains("ops")) return schedule_of(description["ops"]);
  if (description.contains("chunk")) return shifted_schedule(tokens, description["chunk"]);
  return bidirectional_schedule(tokens);
}

TEST_P(LactGolden, OuterGradients) {
  TTT_REQUIRE_SHARED("golden/nvs/core/grad.safetensors");
  const Golden golden("core/grad");
  for (const auto& item : golden.cases().items()) {
    SCOPED_TRACE(item.key());
    const std::string prefix = item.key() + ".";
    Case c(golden, item.key(), item.value(), GetParam().dtype);
    c.options.backend = GetParam().backend;
    c.require_gradients();
    const LactResult result = c.run(gradient_schedule(item.value()), c.start());
    at::Tensor loss = (result.output * golden.read(prefix + "dout")).sum();
    if (item.value().contains("state")) {
      const SwigluMatrices last = c.stored(result.state.weights);
      loss = loss + (last.w0 * golden.read(prefix + "dw0_out")).sum() +
             (last.w1 * golden.read(prefix + "dw1_out")).sum() +
             (last.w2 * golden.read(prefix + "dw2_out")).sum();
    }
    EXPECT_NEAR(loss.item<double>(), golden.read(prefix + "f64.loss").item<double>(),
                exact() ? 1e-9 : 1e-3);
    loss.backward();
    const auto expect_gradient = [&](const std::string& name, const at::Tensor& leaf) {
      const at::Tensor expected = golden.read(prefix + "f64.grad." + name);
      EXPECT_LE(max_error(leaf.grad(), expected),
                (exact() ? 1e-8 : 2e-4) * expected.norm().item<double>())
          << name;
    };
    expect_gradient("q", c.tokens.q);
    expect_gradient("k", c.tokens.k);
    expect_gradient("v", c.tokens.v);
    for (std::size_t i = 0; i < 3; ++i) expect_gradient("lr" + std::to_string(i), c.rates[i]);
    expect_gradient("w0", c.weights.w0);
    expect_gradient("w1", c.weights.w1);
    expect_gradient("w2", c.weights.w2);
    if (c.tokens.momentum.defined()) expect_gradient("momentum", c.tokens.momentum);
  }
}

INSTANTIATE_TEST_SUITE_P(Runs, LactGolden,
                         testing::Values(Run{at::kDouble, Backend::automatic},
                                         Run{at::kFloat, Backend::reference},
                                         Run{at::kFloat, Backend::cpu}),
                         [](const auto& test) {
                           return std::string(c10::toString(test.param.dtype)) + "_" +
                                  std::string(ops::to_string(test.param.backend));
                         });

TEST(LactGoldenBfloat16, NewtonSchulzIsAsCloseAsThePublishedOne) {
  TTT_REQUIRE_SHARED("golden/nvs/core/nvs_core.safetensors");
  const Golden golden("core/nvs_core");
  for (const std::string name : {"bidir", "bidir_square", "long", "prefix_apply_all"}) {
    SCOPED_TRACE(name);
    const json& description = golden.cases()[name];
    Case c(golden, name, description, at::kFloat);
    c.options.bf16_newton_schulz = true;
    const LactResult result = c.run(schedule_of(description["ops_per_call"][0]), c.start());
    const at::Tensor exact = golden.read(name + ".f64.call0.out");
    const double published = test::rms_error(golden.read(name + ".bf16ns.call0.out"), exact);
    EXPECT_LE(test::rms_error(result.output, exact), 2 * published);
  }
}

}  // namespace
}  // namespace ttt::layers
