// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/model/lvsm.h"

#include "core/error.h"
#include "kernels/linear/feed_forward.h"
#include "kernels/linear/linear.h"
#include "kernels/support/checks.h"
#include "layers/recompute.h"
#include "nvs/model/patches.h"

#include <ATen/CPUGeneratorImpl.h>
#include <spdlog/fmt/fmt.h>
#include <torch/torch.h>

#include <cmath>

namespace ttt::nvs {
namespace {

constexpr double kLinearStd = 0.02;

using Holder = std::shared_ptr<WeightHolder>;

const ops::LinearFusion kSilu{ops::LinearActivation::silu};

at::Tensor layer_norm(const at::Tensor& x, const Holder& norm) {
  return at::layer_norm(x, {x.size(-1)}, norm->weight, {}, kLayerNormEpsilon);
}

at::Tensor split_heads(const at::Tensor& x, std::int64_t heads) {
  return x.unflatten(-1, {heads, x.size(-1) / heads});
}

/// x [views, n, dim]: attention within each view.
at::Tensor attention(const LvsmSubLayerModule& sub, const at::Tensor& x, ops::Backend backend) {
  const std::vector<at::Tensor> qkv =
      ops::linear(x, sub.to_qkv->weight, {}, {}, backend).chunk(3, 2);
  at::Tensor q = split_heads(qkv[0], sub.heads), k = split_heads(qkv[1], sub.heads);
  if (sub.q_norm) {
    q = rms_norm(q, sub.q_norm->weight, kAttentionNormEpsilon);
    k = rms_norm(k, sub.k_norm->weight, kAttentionNormEpsilon);
  }
  const at::Tensor v = split_heads(qkv[2], sub.heads);
  const at::Tensor attended = at::scaled_dot_product_attention(
      q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2));  // [views, heads, n, D]
  return ops::linear(attended.transpose(1, 2).flatten(2), sub.c_proj->weight, {}, {}, backend);
}

/// Rates of tokens [B, N, dim] in float also under autocast, [B, N, 3, heads].
at::Tensor learning_rates(const LvsmSubLayerModule& sub, const at::Tensor& x) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const at::Tensor raw =
      ops::linear(x.to(sub.lr_fc->weight.scalar_type()), sub.lr_fc->weight, sub.lr_fc->bias);
  return layers::lact_learning_rates(raw, sub.options.base_lr).unflatten(2, {3, sub.heads});
}

/// x [B, L, dim]: one update on the first `inputs` tokens, then those from `first` on are applied.
at::Tensor fast_weights(const LvsmSubLayerModule& sub, const at::Tensor& x, std::int64_t inputs,
                        std::int64_t first, const LvsmForwardContext& context) {
  const std::int64_t dim = x.size(2);
  const at::Tensor& qkv = sub.to_qkv->weight;
  layers::FastWeights state{
      {sub.w0.unsqueeze(0), sub.w1.unsqueeze(0), sub.w2.unsqueeze(0)}, {}, {}};
  if (context.inner_update) {
    const at::Tensor seen = x.narrow(1, 0, inputs);
    const at::Tensor kv =
        ops::linear(seen, qkv.narrow(0, dim, 2 * dim), {}, kSilu, context.backend);
    layers::LactTokens tokens;
    tokens.k = layers::lact_normalise(kv.narrow(2, 0, dim), sub.heads);
    tokens.v = kv.narrow(2, dim, dim);
    tokens.rates = learning_rates(sub, seen);
    state = layers::run_lact(state, tokens, {{0, inputs, true, false}},
                             lact_options(sub.options, context.backend, context.bf16_newton_schulz))
                .state;
  }
  const at::Tensor q = ops::linear(x.narrow(1, first, x.size(1) - first), qkv.narrow(0, 0, dim), {},
                                   kSilu, context.backend);
  const at::Tensor out = ops::swiglu_apply(layers::lact_normalise(q, sub.heads), state.weights,
                                           context.backend);  // [B, applied, dim]
  const at::Tensor normed =
      rms_norm(split_heads(out, sub.heads), sub.o_norm->weight, kOutputNormEpsilon);
  return ops::linear(normed.flatten(2), sub.c_proj->weight, {}, {}, context.backend);
}

at::Tensor mlp(const LvsmSubLayerModule& sub, const at::Tensor& x, ops::Backend backend) {
  return ops::feed_forward(
      x, {sub.c_fc->weight, {}, sub.c_proj->weight, {}, ops::LinearActivation::gelu}, {}, backend);
}

}  // namespace

WeightHolder::WeightHolder(at::IntArrayRef shape, bool with_bias) {
  weight = register_parameter("weight", torch::empty(shape));
  if (with_bias) bias = register_parameter("bias", torch::empty({shape[0]}));
}

LvsmSubLayerModule::LvsmSubLayerModule(const LvsmConfig& config, const LvsmSubLayer& sub)
    : options(sub) {
  const std::int64_t dim = config.dim, hidden = config.hidden(sub), width = sub.head_dim;
  const auto holder = [](torch::nn::Module& parent, const char* name, at::IntArrayRef shape,
                         bool bias = false) {
    return parent.register_module(name, std::make_shared<WeightHolder>(shape, bias));
  };
  ln = holder(*this, "ln", {dim});
  const auto f = register_module("f", std::make_shared<torch::nn::Module>());
  if (sub.kind == SubLayerKind::mlp) {
    c_fc = holder(*f, "c_fc", {hidden, dim});
    c_proj = holder(*f, "c_proj", {dim, hidden});
    return;
  }
  heads = config.heads(sub);
  if (sub.kind == SubLayerKind::fast_weights) {
    w0 = f->register_parameter("w0", torch::empty({heads, width, hidden}));
    w1 = f->register_parameter("w1", torch::empty({heads, hidden, width}));
    w2 = f->register_parameter("w2", torch::empty({heads, width, hidden}));
  }
  to_qkv = holder(*f, "to_qkv", {3 * dim, dim});
  c_proj = holder(*f, "c_proj", {dim, dim});
  if (sub.kind == SubLayerKind::fast_weights) {
    lr_fc = holder(*f, "lr_fc", {3 * heads, dim}, true);
    o_norm = holder(*f, "o_norm", {width});
  } else if (sub.use_qk_norm) {
    q_norm = holder(*f, "q_norm", {width});
    k_norm = holder(*f, "k_norm", {width});
  }
}

LvsmModel::LvsmModel(const LvsmConfig& config) : config_(config) {
  check_config(config, "model configuration");
  const std::int64_t pixels = config.patch_size * config.patch_size, dim = config.dim;
  input_linear_ = register_module(
      "input_linear",
      std::make_shared<WeightHolder>(at::IntArrayRef({dim, kPixelChannels * pixels})));
  input_layernorm_ =
      register_module("input_layernorm", std::make_shared<WeightHolder>(at::IntArrayRef({dim})));
  const auto blocks = register_module("blocks", std::make_shared<torch::nn::Module>());
  for (std::int64_t i = 0; i < config.layers; ++i) {
    const auto block =
        blocks->register_module(std::to_string(i), std::make_shared<torch::nn::Module>());
    const auto list = block->register_module("module_list", std::make_shared<torch::nn::Module>());
    blocks_.emplace_back();
    for (std::size_t j = 0; j < config.block.size(); ++j)
      blocks_.back().push_back(list->register_module(
          std::to_string(j), std::make_shared<LvsmSubLayerModule>(config, config.block[j])));
  }
  const auto decoder =
      register_module("image_token_decoder", std::make_shared<torch::nn::Module>());
  decoder_norm_ =
      decoder->register_module("0", std::make_shared<WeightHolder>(at::IntArrayRef({dim})));
  decoder_linear_ = decoder->register_module(
      "1", std::make_shared<WeightHolder>(at::IntArrayRef({3 * pixels, dim})));  // 2: the sigmoid
}

void LvsmModel::initialize(std::uint64_t seed) {
  const torch::NoGradGuard no_grad;
  const at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  const double projection_std = kLinearStd / std::sqrt(static_cast<double>(config_.layers) *
                                                       static_cast<double>(config_.block.size()));
  for (const auto& item : named_parameters()) {
    at::Tensor value = item.value();
    const std::string& key = item.key();
    if (key.ends_with(".w0") || key.ends_with(".w1") || key.ends_with(".w2"))
      value.normal_(0, std::sqrt(2.0 / static_cast<double>(value.size(1))), generator);
    else if (key.ends_with("bias"))
      value.zero_();
    else if (value.dim() == 1)
      value.fill_(1);
    else
      value.normal_(0, key.ends_with("c_proj.weight") ? projection_std : kLinearStd, generator);
  }
}

at::Tensor LvsmModel::embed(const at::Tensor& images, const CameraTensors& inputs,
                            const CameraTensors& targets) const {
  const auto operand = [&](const CameraTensors& cameras, const at::Tensor& pictures) {
    const CameraTensors flat{cameras.c2w.flatten(0, 1), cameras.fxfycxcy.flatten(0, 1),
                             cameras.height, cameras.width};
    return patch_operand(flat, pictures, config_.patch_size, input_linear().scalar_type())
        .unflatten(0, {images.size(0), -1})
        .flatten(1, 2);
  };
  const at::Tensor patches =
      at::cat({operand(inputs, images.flatten(0, 1)), operand(targets, {})}, 1);
  return ops::linear(patches, input_linear());  // [B, L, dim]
}

at::Tensor LvsmModel::block(std::int64_t index, at::Tensor x, const JointSizes& sizes,
                            const LvsmForwardContext& context) const {
  for (std::size_t j = 0; j < config_.block.size(); ++j) {
    const LvsmSubLayerModule& sub = sub_layer(index, j);
    const at::Tensor normed = layer_norm(x, sub.ln);
    const std::string name = "block" + std::to_string(index) + ".sub" + std::to_string(j);
    if (context.trace) context.trace(name + ".ln", normed);
    // After the last update of all, nothing reads the input tokens any more.
    const bool drop = index + 1 == config_.layers && j == sizes.last_fast_weights;
    at::Tensor f;
    if (sub.options.kind == SubLayerKind::attention)
      f = attention(sub, normed.reshape({-1, sizes.view, config_.dim}), context.backend)
              .view(x.sizes());
    else if (sub.options.kind == SubLayerKind::mlp)
      f = mlp(sub, normed, context.backend);
    else
      f = fast_weights(sub, normed, sizes.inputs, drop ? sizes.inputs : 0, context);
    if (context.trace) context.trace(name + ".f", f);
    x = (drop ? x.narrow(1, sizes.inputs, x.size(1) - sizes.inputs) : x) + f;
  }
  return x;
}

at::Tensor LvsmModel::joint(const at::Tensor& images, const CameraTensors& inputs,
                            const CameraTensors& targets, const LvsmForwardContext& context) const {
  TTT_CHECK(images.dim() == 5 && inputs.c2w.dim() == 4 && targets.c2w.dim() == 4 &&
                images.size(1) > 0 && targets.c2w.size(1) > 0 &&
                targets.c2w.size(0) == images.size(0),
            usage, "joint() needs [B, V, ...] images and cameras of both kinds", "novel views",
            "pass at least one input and one target view for each sample");
  const auto trace = [&](const std::string& name, const at::Tensor& value) {
    if (context.trace) context.trace(name, value);
  };
  at::Tensor x = embed(images, inputs, targets);
  trace("input_linear", x);
  // The residual stream stays wide under autocast.
  x = layer_norm(x.to(input_linear().scalar_type()), input_layernorm_);  // [B, L, dim]
  trace("input_layernorm", x);
  JointSizes sizes;
  sizes.view = (targets.height / config_.patch_size) * (targets.width / config_.patch_size);
  sizes.inputs = images.size(1) * sizes.view;
  for (std::size_t j = 0; j < config_.block.size(); ++j)
    if (config_.block[j].kind == SubLayerKind::fast_weights) sizes.last_fast_weights = j;
  for (std::int64_t i = 0; i < config_.layers; ++i) {
    // The recomputed block outlives this call, and its context's trace would see it twice.
    x = context.recompute
            ? layers::recompute(
                  [this, i, sizes, quiet = context.without_trace()](const at::Tensor& tokens) {
                    return block(i, tokens, sizes, quiet);
                  },
                  x)
            : block(i, x, sizes, context);
    trace("block" + std::to_string(i), x);
  }
  x = ops::linear(layer_norm(x, decoder_norm_), decoder_linear(), {}, {}, context.backend)
          .to(x.scalar_type());
  return unpatchify(at::sigmoid(x), targets.height, targets.width, config_.patch_size)
      .unflatten(0, {images.size(0), targets.c2w.size(1)});
}

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double epsilon) {
  const at::Tensor wide = x.to(ops::accumulation_dtype(x.scalar_type()));
  const at::Tensor scale = (wide.square().mean(-1, true) + epsilon).rsqrt();
  at::Tensor y = wide * scale;
  if (weight.defined()) y = y * weight;
  return y.to(x.scalar_type());
}

layers::LactOptions lact_options(const LvsmSubLayer& sub, ops::Backend backend,
                                 bool bf16_newton_schulz) {
  layers::LactOptions options;
  options.steps = ops::newton_schulz_repeated(sub.newton_schulz_steps);
  options.bf16_newton_schulz = bf16_newton_schulz;
  options.keep_norms = true;
  options.backend = backend;
  return options;
}

}  // namespace ttt::nvs
