// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// Properties of the fast-weight operations: who sees whom, tiles, state carried over calls.
#include "layers/lact/lact.h"

#include "core/error.h"
#include "kernels/fast_weight_update/fast_weight_update.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace ttt::layers {
namespace {

constexpr std::int64_t kHeads = 2, kWidth = 6, kHidden = 10;

FastWeights start_weights(at::ScalarType dtype = at::kDouble) {
  const auto options = at::TensorOptions().dtype(dtype);
  return {{at::randn({1, kHeads, kWidth, kHidden}, options) * 0.4,
           at::randn({1, kHeads, kHidden, kWidth}, options) * 0.3,
           at::randn({1, kHeads, kWidth, kHidden}, options) * 0.4},
          {},
          {}};
}

LactTokens random_tokens(std::int64_t batch, std::int64_t count,
                         at::ScalarType dtype = at::kDouble) {
  const auto options = at::TensorOptions().dtype(dtype);
  const auto activation = [&] { return at::randn({batch, count, kHeads * kWidth}, options); };
  return {activation(),
          activation(),
          activation(),
          at::rand({batch, count, 3, kHeads}, options) * 0.1,
          {}};
}

LactOptions muon() {
  LactOptions options;
  options.steps = ops::newton_schulz_repeated(5);
  return options;
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

double difference(const FastWeights& a, const FastWeights& b) {
  return std::max({difference(a.weights.w0, b.weights.w0), difference(a.weights.w1, b.weights.w1),
                   difference(a.weights.w2, b.weights.w2)});
}

class Lact : public testing::Test {
 protected:
  void SetUp() override { torch::manual_seed(7); }
};

/// Changes the tokens from `from` on.
LactTokens changed_from(const LactTokens& tokens, std::int64_t from) {
  LactTokens other = tokens;
  for (at::Tensor* t : {&other.q, &other.k, &other.v, &other.rates}) {
    *t = t->clone();
    t->narrow(1, from, t->size(1) - from).mul_(-1.5).add_(0.3);
  }
  other.rates.abs_();
  return other;
}

TEST_F(Lact, LaterTokensDontChangeEarlierOutputs) {
  const FastWeights start = start_weights();
  const LactTokens tokens = random_tokens(2, 22), other = changed_from(tokens, 13);
  for (const LactSchedule& schedule : {block_causal_schedule(22, 5), shifted_schedule(22, 5)}) {
    const at::Tensor a = run_lact(start, tokens, schedule, muon()).output;
    const at::Tensor b = run_lact(start, other, schedule, muon()).output;
    EXPECT_TRUE(a.narrow(1, 0, 10).equal(b.narrow(1, 0, 10)));  // whole chunks before the change
    EXPECT_GT(difference(a.narrow(1, 15, 7), b.narrow(1, 15, 7)), 1e-3);
  }
}

TEST_F(Lact, ShiftedChunksSeeEarlierOnesAlone) {
  const FastWeights start = start_weights();
  const LactTokens tokens = random_tokens(1, 20);
  LactTokens other = tokens;
  other.k = tokens.k.clone();
  other.k.narrow(1, 5, 5).zero_();
  const LactSchedule schedule = shifted_schedule(20, 5);
  const at::Tensor a = run_lact(start, tokens, schedule, muon()).output;
  const at::Tensor b = run_lact(start, other, schedule, muon()).output;
  EXPECT_TRUE(a.narrow(1, 0, 10).equal(b.narrow(1, 0, 10)));
  EXPECT_GT(difference(a.narrow(1, 10, 10), b.narrow(1, 10, 10)), 1e-3);
}

TEST_F(Lact, TokensOfAChunkAreASet) {
  const FastWeights start = start_weights();
  const LactTokens tokens = random_tokens(1, 17);
  const at::Tensor order = at::randperm(17);
  LactTokens permuted;
  permuted.q = tokens.q.index_select(1, order);
  permuted.k = tokens.k.index_select(1, order);
  permuted.v = tokens.v.index_select(1, order);
  permuted.rates = tokens.rates.index_select(1, order);
  const LactSchedule schedule = bidirectional_schedule(17);
  const at::Tensor a = run_lact(start, tokens, schedule, muon()).output.index_select(1, order);
  EXPECT_LE(difference(run_lact(start, permuted, schedule, muon()).output, a), 1e-10);
}

TEST_F(Lact, NeverUpdatedTokensAreInvisible) {
  const FastWeights start = start_weights();
  const LactTokens tokens = random_tokens(1, 20), other = changed_from(tokens, 9);
  const LactResult a = run_lact(start, tokens, prefix_schedule(9, 20), muon());
  const LactResult b = run_lact(start, other, prefix_schedule(9, 20), muon());
  EXPECT_EQ(difference(a.state, b.state), 0);
  EXPECT_TRUE(a.output.narrow(1, 0, 9).equal(b.output.narrow(1, 0, 9)));
}

TEST_F(Lact, StridedPairsUpdateOnTheSecondRange) {
  const FastWeights start = start_weights();
  const LactTokens tokens = random_tokens(1, 24);
  LactTokens other = tokens;
  other.k = tokens.k.clone();
  other.k.narrow(1, 0, 6).neg_();  // first ranges are applied only
  other.k.narrow(1, 12, 6).neg_();
  const LactSchedule schedule = strided_schedule(24, 6);
  EXPECT_TRUE(run_lact(start, tokens, schedule, muon())
                  .output.equal(run_lact(start, other, schedule, muon()).output));
}

TEST_F(Lact, TilesGiveTheSameSums) {
  // More tokens than a tile, and the same in parts.
  const std::int64_t count = 1300;
  const LactTokens tokens = random_tokens(1, count, at::kFloat);
  const ops::SwigluMatrices weights = start_weights(at::kFloat).weights;
  const ops::SwigluMatrices whole = ops::swiglu_gradient(tokens.k, tokens.v, tokens.rates, weights);
  const ops::SwigluMatrices parts{at::zeros_like(whole.w0), at::zeros_like(whole.w1),
                                  at::zeros_like(whole.w2)};
  std::vector<ops::SwigluMatrices> separate;
  for (std::int64_t begin = 0; begin < count; begin += 77) {
    const std::int64_t n = std::min<std::int64_t>(77, count - begin);
    const at::Tensor k = tokens.k.narrow(1, begin, n), v = tokens.v.narrow(1, begin, n),
                     rates = tokens.rates.narrow(1, begin, n);
    ops::swiglu_gradient_add(k, v, rates, weights, parts);
    separate.push_back(ops::swiglu_gradient(k, v, rates, weights));
  }
  const ops::SwigluMatrices merged = merge_gradients(separate);
  const auto relative = [](const at::Tensor& a, const at::Tensor& b) {
    return difference(a, b) / b.abs().max().item<double>();
  };
  EXPECT_LE(relative(parts.w0, whole.w0), 1e-6);
  EXPECT_LE(relative(parts.w1, whole.w1), 1e-6);
  EXPECT_LE(relative(parts.w2, whole.w2), 1e-6);
  EXPECT_LE(relative(merged.w1, whole.w1), 1e-6);
  const at::Tensor all = ops::swiglu_apply(tokens.q, weights);
  EXPECT_LE(
      difference(ops::swiglu_apply(tokens.q.narrow(1, 600, 99), weights), all.narrow(1, 600, 99)),
      1e-6);
}

TEST_F(Lact, MergedShardsUpdateLikeTheWhole) {
  FastWeights start = start_weights();
  start.norms = fast_weight_norms(start.weights);
  const LactTokens tokens = random_tokens(1, 30);
  const FastWeights whole = run_lact(start, tokens, {{0, 30, true, false}}, muon()).state;
  std::vector<ops::SwigluMatrices> shards;
  for (const std::int64_t begin : {0, 10, 20})
    shards.push_back(ops::swiglu_gradient(tokens.k.narrow(1, begin, 10),
                                          tokens.v.narrow(1, begin, 10),
                                          tokens.rates.narrow(1, begin, 10), start.weights));
  EXPECT_LE(difference(lact_update(start, merge_gradients(shards), {}, muon()), whole), 1e-9);
}

TEST_F(Lact, KeptNormsDontShrink) {
  FastWeights measured = start_weights(), kept = measured;
  const at::Tensor first = ops::fast_weight_norms(measured.weights.w0);
  const LactTokens tokens = random_tokens(1, 12);
  LactOptions keep = muon();
  keep.keep_norms = true;
  for (int call = 0; call < 100; ++call) {
    measured = run_lact(measured, tokens, {{0, 12, true, false}}, muon()).state;
    kept = run_lact(kept, tokens, {{0, 12, true, false}}, keep).state;
  }
  const auto ratio = [&](const FastWeights& state) {
    return (ops::fast_weight_norms(state.weights.w0) / first).mean().item<double>();
  };
  EXPECT_GT(ratio(kept), 1 - 1e-4);
  EXPECT_LT(ratio(measured), ratio(kept) - 3e-4);
}

TEST_F(Lact, EmptyUpdateOnlyScales) {
  const FastWeights start = start_weights();
  const LactTokens tokens = random_tokens(1, 4);
  const LactResult result = run_lact(start, tokens, {{2, 2, true, false}}, muon());
  const at::Tensor ratio = result.state.weights.w0 / start.weights.w0;
  EXPECT_LT(ratio.max().item<double>(), 1);
  EXPECT_GT(ratio.min().item<double>(), 1 - 1e-3);
  EXPECT_EQ(result.output.size(1), 0);
}

TEST_F(Lact, SamplesAreIndependent) {
  const FastWeights start = start_weights();
  const LactTokens tokens = random_tokens(3, 9);
  const at::Tensor all = run_lact(start, tokens, bidirectional_schedule(9), muon()).output;
  const LactTokens second{tokens.q.narrow(0, 1, 1),
                          tokens.k.narrow(0, 1, 1),
                          tokens.v.narrow(0, 1, 1),
                          tokens.rates.narrow(0, 1, 1),
                          {}};
  EXPECT_LE(difference(run_lact(start, second, bidirectional_schedule(9), muon()).output,
                       all.narrow(0, 1, 1)),
            1e-12);
}

TEST_F(Lact, ApplyNeedsQueriesAlone) {
  const FastWeights start = start_weights();
  LactTokens queries;
  queries.q = random_tokens(1, 5).q;
  EXPECT_EQ(run_lact(start, queries, {{0, 5, false, true}}, muon()).output.size(1), 5);
  EXPECT_THROW(run_lact(start, queries, bidirectional_schedule(5), muon()), Error);
  EXPECT_THROW(run_lact(start, queries, {{3, 1, false, true}}, muon()), Error);
  EXPECT_THROW(run_lact(start, {}, bidirectional_schedule(5), muon()), Error);
}

TEST_F(Lact, ProcessesWithPartsEqualOne) {
  // Two shards of every chunk in one process: the sum adds what the other shard would send.
  const FastWeights start = start_weights();
  const LactTokens tokens = random_tokens(1, 16);
  const LactTokens halves[] = {{tokens.q.narrow(1, 0, 8),
                                tokens.k.narrow(1, 0, 8),
                                tokens.v.narrow(1, 0, 8),
                                tokens.rates.narrow(1, 0, 8),
                                {}},
                               {tokens.q.narrow(1, 8, 8),
                                tokens.k.narrow(1, 8, 8),
                                tokens.v.narrow(1, 8, 8),
                                tokens.rates.narrow(1, 8, 8),
                                {}}};
  const at::Tensor whole = run_lact(start, tokens, bidirectional_schedule(16), muon()).output;
  for (int rank = 0; rank < 2; ++rank) {
    const LactTokens& other = halves[1 - rank];
    const ops::SwigluMatrices sent =
        ops::swiglu_gradient(other.k, other.v, other.rates, start.weights);
    int call = 0;
    LactOptions options = muon();
    options.sum = [&](const at::Tensor& t) {
      const at::Tensor* parts[] = {&sent.w0, &sent.w1, &sent.w2};
      t.add_(*parts[call++]);
    };
    const at::Tensor part =
        run_lact(start, halves[rank], bidirectional_schedule(8), options).output;
    EXPECT_LE(difference(part, whole.narrow(1, 8 * rank, 8)), 1e-9);
  }
}

TEST_F(Lact, LearningRateOfZeroIsTheBase) {
  EXPECT_NEAR(lact_learning_rates(at::zeros({1}, at::kDouble), 0.01).item<double>(), 0.01, 1e-15);
  EXPECT_THROW(lact_learning_rates(at::zeros({1}), 0), Error);
}

TEST_F(Lact, Bfloat16ActivationsKeepFloatWeights) {
  const FastWeights start = start_weights(at::kFloat);
  const LactTokens tokens = random_tokens(1, 40, at::kFloat);
  LactTokens narrow = tokens;
  for (at::Tensor* t : {&narrow.q, &narrow.k, &narrow.v}) *t = t->to(at::kBFloat16);
  const LactResult wide = run_lact(start, tokens, bidirectional_schedule(40), muon());
  const LactResult result = run_lact(start, narrow, bidirectional_schedule(40), muon());
  EXPECT_EQ(result.output.scalar_type(), at::kBFloat16);
  EXPECT_EQ(result.state.weights.w0.scalar_type(), at::kFloat);
  EXPECT_LE(difference(result.output.to(at::kFloat), wide.output) /
                wide.output.abs().max().item<double>(),
            0.05);
}

}  // namespace
}  // namespace ttt::layers
