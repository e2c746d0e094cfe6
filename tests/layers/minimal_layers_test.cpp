// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "layers/lact/minimal_layers.h"

#include "core/error.h"
#include "core/weights/state_dict.h"
#include "layers/module_weights.h"
#include "layers/window_attention.h"
#include "tests/layers/golden.h"

#include <torch/torch.h>

namespace ttt::layers {
namespace {

using nlohmann::json;
using test::Golden;
using test::max_error;

MinimalLactOptions options_of(const json& kwargs) {
  MinimalLactOptions options;
  options.dim = kwargs.value("dim", options.dim);
  options.head_dim = kwargs.value("head_dim", options.head_dim);
  options.attn_head_dim = kwargs.value("attn_head_dim", options.attn_head_dim);
  options.inter_multi = kwargs.value("inter_multi", options.inter_multi);
  options.use_o_norm = kwargs.value("use_o_norm", true);
  options.use_muon = kwargs.value("use_muon", true);
  options.qk_l2_norm = kwargs.value("qk_l2_norm", true);
  options.use_momentum = kwargs.value("use_momentum", true);
  options.lact_chunk_size = kwargs.value("lact_chunk_size", options.lact_chunk_size);
  if (kwargs.contains("window_size")) {
    options.window_size.reset();
    if (!kwargs["window_size"].is_null())
      options.window_size = kwargs["window_size"].get<std::int64_t>();
  }
  return options;
}

MinimalLactResult forward(const std::shared_ptr<MinimalLact>& layer, const at::Tensor& x) {
  if (const auto* causal = dynamic_cast<const CausalLact*>(layer.get())) return causal->forward(x);
  return dynamic_cast<const BidirectionalLact&>(*layer).forward(x);
}

std::shared_ptr<MinimalLact> make_layer(const std::string& type, const MinimalLactOptions& o) {
  if (type == "BidirectionalLaCTSwiGLU") return std::make_shared<BidirectionalLact>(o);
  return std::make_shared<CausalLact>(o);
}

/// [B, N, heads*D] as the golden file's [(B heads), N, D].
at::Tensor per_head(const at::Tensor& x, std::int64_t width) {
  return x.unflatten(2, {-1, width}).transpose(1, 2).flatten(0, 1);
}

class MinimalLayers : public testing::TestWithParam<at::ScalarType> {};

TEST_P(MinimalLayers, MatchTheOfficialCode) {
  TTT_REQUIRE_SHARED("golden/nvs/layers/minimal_layers.safetensors");
  const Golden golden("layers/minimal_layers");
  const bool exact = GetParam() == at::kDouble;
  for (const auto& item : golden.cases().items()) {
    const json& description = item.value();
    const std::vector<std::string> rules = description.value("rules", std::vector<std::string>{""});
    for (const std::string& rule : rules) {
      SCOPED_TRACE(item.key() + " " + rule);
      MinimalLactOptions options = options_of(description["kwargs"]);
      options.reference_compat = rule == "published";
      const auto layer = make_layer(description["class"], options);
      std::vector<std::string> keys;
      const torch::NoGradGuard no_grad;
      for (const ParameterSlot& slot : parameter_slots(*layer)) {
        keys.push_back(slot.name);
        slot.destination.copy_(golden.read(item.key() + ".param." + slot.name));
      }
      std::vector<std::string> official = description["keys"];
      std::sort(keys.begin(), keys.end());
      std::sort(official.begin(), official.end());
      EXPECT_EQ(keys, official);
      layer->to(GetParam());
      for (const std::int64_t length : description["lengths"]) {
        const std::string prefix = item.key() + ".L" + std::to_string(length) + ".";
        const std::string result = prefix + (rule.empty() ? "" : rule + ".") + "f64.";
        const MinimalLactResult out = forward(layer, golden.read(prefix + "x").to(GetParam()));
        EXPECT_LE(max_error(out.y, golden.read(result + "y")), exact ? 1e-8 : 2e-4) << length;
        const auto expect_part = [&](const std::string& part, const at::Tensor& actual,
                                     double tolerance) {
          if (!golden.has(result + part)) return;
          EXPECT_LE(max_error(actual, golden.read(result + part)), tolerance) << part;
        };
        expect_part("ttt", per_head(out.ttt, options.head_dim), exact ? 1e-6 : 5e-5);
        expect_part("attn", out.attention.defined() ? out.attention : out.y, exact ? 1e-6 : 2e-6);
        expect_part("w0", out.state.weights.w0.transpose(-2, -1).flatten(0, 1),
                    exact ? 1e-6 : 1e-4);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, MinimalLayers, testing::Values(at::kDouble, at::kFloat),
                         [](const auto& test) { return std::string(c10::toString(test.param)); });

/// The pseudo-random stream of the published fixtures.
class Stream {
 public:
  at::Tensor take(at::IntArrayRef shape) {
    at::Tensor tensor = at::empty(shape, at::kDouble);
    double* to = tensor.mutable_data_ptr<double>();
    for (std::int64_t i = 0; i < tensor.numel(); ++i) {
      x_ = 1664525U * x_ + 1013904223U;
      to[i] = static_cast<double>(x_) / 4294967296.0;
    }
    return tensor;
  }

 private:
  std::uint32_t x_ = 1;
};

void fill(const std::shared_ptr<MinimalLact>& layer, const std::vector<std::string>& keys,
          Stream& stream) {
  layer->to(at::kDouble);
  const torch::NoGradGuard no_grad;
  const std::vector<ParameterSlot> slots = parameter_slots(*layer);
  ASSERT_EQ(slots.size(), keys.size());
  for (const std::string& key : keys) {
    const auto slot = std::find_if(slots.begin(), slots.end(),
                                   [&](const ParameterSlot& s) { return s.name == key; });
    ASSERT_NE(slot, slots.end()) << key;
    const at::Tensor u = stream.take(slot->destination.sizes());
    if (key == "o_norm.weight" || key == "qk_scale") {
      slot->destination.copy_(1 + 0.2 * (u - 0.5));
    } else if (key.size() == 2) {  // w0, w1, w2
      slot->destination.copy_(2 * (u - 0.5));
    } else {
      slot->destination.copy_(u - 0.5);
    }
  }
}

struct Numbers {
  double mean, deviation;
  std::vector<double> first, last;
};

void expect_numbers(const at::Tensor& y, const Numbers& numbers) {
  EXPECT_NEAR(y.mean().item<double>(), numbers.mean, 1e-10);
  EXPECT_NEAR(y.std().item<double>(), numbers.deviation, 1e-10);
  const at::Tensor last = y.select(1, y.size(1) - 1);
  for (std::int64_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(y[0][0][i].item<double>(), numbers.first[static_cast<std::size_t>(i)], 1e-10);
    EXPECT_NEAR(last[0][13 + i].item<double>(), numbers.last[static_cast<std::size_t>(i)], 1e-10);
  }
}

TEST(MinimalLayerFixtures, Bidirectional) {
  MinimalLactOptions options;
  options.dim = 16;
  options.head_dim = 8;
  options.inter_multi = 2;
  for (const bool published : {false, true}) {
    SCOPED_TRACE(published);
    options.reference_compat = published;
    const auto layer = std::make_shared<BidirectionalLact>(options);
    Stream stream;
    fill(layer,
         {"w0", "w1", "w2", "to_qkv.weight", "o_proj.weight", "lr_proj.weight", "o_norm.weight"},
         stream);
    const torch::NoGradGuard no_grad;
    const at::Tensor y = layer->forward(2 * stream.take({1, 7, 16}) - 1).y;
    const Numbers paper{0.189888201173,
                        1.135797668742,
                        {0.013681440841, 1.196505156915, -0.046997988965},
                        {-1.029033463722, 0.439516506298, 0.760121952450}};
    const Numbers defect{0.171400251092,
                         1.178773490226,
                         {0.083795452599, -0.180419046657, -0.719505220988},
                         {1.579609829518, -1.830939104742, -0.512392990863}};
    expect_numbers(y, published ? defect : paper);
  }
}

MinimalLactOptions causal_options() {
  MinimalLactOptions options;
  options.dim = 16;
  options.head_dim = 8;
  options.attn_head_dim = 4;
  options.lact_chunk_size = 4;
  options.window_size = 3;
  options.inter_multi = 2;
  return options;
}

TEST(MinimalLayerFixtures, Causal) {
  const auto layer = std::make_shared<CausalLact>(causal_options());
  Stream stream;
  fill(layer,
       {"w0", "w1", "w2", "qk_scale", "qk_offset", "to_qkv.weight", "o_proj.weight",
        "lr_proj.weight", "momentum_proj.0.weight", "momentum_proj.0.bias", "o_norm.weight",
        "ttt_scale_proj.weight", "ttt_scale_proj.bias"},
       stream);
  const torch::NoGradGuard no_grad;
  expect_numbers(layer->forward(2 * stream.take({1, 10, 16}) - 1).y,
                 {-0.037932827296,
                  0.478865215418,
                  {-0.657934029111, -0.265644207394, -0.181600810363},
                  {0.484074241450, 0.178709352161, 0.337898318229}});
}

TEST(MinimalLayerProperties, CausalLayerIgnoresTheFuture) {
  at::manual_seed(5);
  const auto layer = std::make_shared<CausalLact>(causal_options());
  layer->initialize(at::make_generator<at::CPUGeneratorImpl>(5));
  const torch::NoGradGuard no_grad;
  const at::Tensor x = at::randn({2, 18, 16});
  at::Tensor other = x.clone();
  other.narrow(1, 11, 7).zero_();
  const at::Tensor a = layer->forward(x).y, b = layer->forward(other).y;
  EXPECT_LE(max_error(a.narrow(1, 0, 11), b.narrow(1, 0, 11)), 1e-6);
  EXPECT_GT(max_error(a.narrow(1, 11, 7), b.narrow(1, 11, 7)), 1e-2);
}

TEST(MinimalLayerProperties, GradientsReachEveryParameter) {
  const auto layer = std::make_shared<CausalLact>(causal_options());
  layer->initialize(at::make_generator<at::CPUGeneratorImpl>(6));
  layer->forward(at::randn({1, 13, 16})).y.square().sum().backward();
  for (const auto& item : layer->named_parameters())
    EXPECT_GT(item.value().grad().abs().max().item<double>(), 0) << item.key();
}

TEST(MinimalLayerProperties, RefuseSizesThatDontFit) {
  MinimalLactOptions options = causal_options();
  options.head_dim = 5;
  EXPECT_THROW(CausalLact{options}, Error);
  options = causal_options();
  options.attn_head_dim = 3;
  EXPECT_THROW(CausalLact{options}, Error);
  options = causal_options();
  options.inter_multi = 0;
  EXPECT_THROW(BidirectionalLact{options}, Error);
}

/// Masked softmax over all pairs.
at::Tensor plain_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                           std::int64_t heads, std::int64_t window) {
  const std::int64_t tokens = q.size(1);
  const auto split = [&](const at::Tensor& x) {
    return x.unflatten(2, {heads, -1}).transpose(1, 2);
  };
  at::Tensor scores = split(q).matmul(split(k).transpose(-2, -1)) /
                      std::sqrt(static_cast<double>(q.size(2) / heads));
  const at::Tensor distance = at::arange(tokens).unsqueeze(1) - at::arange(tokens).unsqueeze(0);
  scores = scores.masked_fill((distance < 0).logical_or(distance >= window),
                              -std::numeric_limits<double>::infinity());
  return scores.softmax(-1).matmul(split(v)).transpose(1, 2).flatten(2, 3);
}

TEST(WindowAttention, EqualsTheMaskedSoftmax) {
  at::manual_seed(4);
  for (const std::int64_t tokens : {1, 5, 16, 23})
    for (const std::int64_t window : {1, 3, 8, 23, 100}) {
      const at::Tensor q = at::randn({2, tokens, 12}, at::kDouble),
                       k = at::randn({2, tokens, 12}, at::kDouble),
                       v = at::randn({2, tokens, 12}, at::kDouble);
      EXPECT_LE(
          max_error(causal_attention(q, k, v, 3, window), plain_attention(q, k, v, 3, window)),
          1e-12)
          << tokens << " " << window;
    }
  const at::Tensor q = at::randn({1, 9, 8});
  EXPECT_THROW(causal_attention(q, q, q, 2, 0), Error);
  EXPECT_LE(max_error(causal_attention(q, q, q, 2, {}), plain_attention(q, q, q, 2, 9)), 1e-5);
  EXPECT_EQ(full_attention(q, q, q, 2).sizes(), q.sizes());
}

}  // namespace
}  // namespace ttt::layers
