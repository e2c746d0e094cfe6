// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/model/renderer_parts.h"

#include "core/error.h"
#include "kernels/swiglu_fast_weights/swiglu_fast_weights.h"
#include "nvs/model/patches.h"

#include <torch/torch.h>

#include <cmath>

namespace ttt::nvs {
namespace {

const ops::LinearFusion kSilu{ops::LinearActivation::silu};
const ops::LinearFusion kGelu{ops::LinearActivation::gelu};

at::Tensor split_heads(const at::Tensor& x, std::int64_t heads) {
  return x.unflatten(-1, {heads, x.size(-1) / heads});
}

}  // namespace

LvsmRenderer::Parts::Parts(const LvsmModel& model, const RendererOptions& run)
    : config(model.config()), options(run) {
  const torch::NoGradGuard no_grad;
  TTT_CHECK(run.dtype == at::kFloat || run.dtype == at::kBFloat16 || run.dtype == at::kDouble,
            usage, "novel views are computed in fp32 or bf16", "--dtype", "use fp32 or bf16");
  TTT_CHECK(run.tile_tokens > 0, usage, "tiles need at least one token", "novel views",
            "use a larger tile");
  wide = run.dtype == at::kDouble ? at::kDouble : at::kFloat;
  const auto kept = [&](const at::Tensor& t) { return t.detach().to(run.device, wide); };
  input_linear = kept(model.input_linear());
  input_norm = kept(model.input_layernorm());
  decoder_norm = kept(model.decoder_norm());
  decoder_linear = kept(model.decoder_linear());
  for (std::int64_t i = 0; i < config.layers; ++i)
    for (std::size_t j = 0; j < config.block.size(); ++j)
      subs.push_back(prepared(model.sub_layer(i, j), sub_layer_name(i, j)));
}

PreparedSubLayer LvsmRenderer::Parts::prepared(const LvsmSubLayerModule& sub,
                                               std::string name) const {
  const auto kept = [&](const at::Tensor& t) { return t.detach().to(options.device, wide); };
  const auto factor = [&](const at::Tensor& t) { return kept(t).to(options.dtype); };
  PreparedSubLayer result;
  result.options = sub.options;
  result.name = std::move(name);
  result.heads = sub.heads;
  result.norm = kept(sub.ln->weight);
  if (sub.options.kind != SubLayerKind::fast_weights)
    result.projection = factor(sub.c_proj->weight);
  if (sub.options.kind == SubLayerKind::mlp) {
    result.hidden = factor(sub.c_fc->weight);
    return result;
  }
  const std::int64_t dim = config.dim;
  result.query = factor(sub.to_qkv->weight.narrow(0, 0, dim));
  result.key_value = factor(sub.to_qkv->weight.narrow(0, dim, 2 * dim));
  if (sub.options.kind == SubLayerKind::attention) {
    if (sub.q_norm)  // (q w_q)(k w_k) / sqrt(D) = (q w_q w_k / sqrt(D)) k
      result.query_scale = kept(sub.q_norm->weight) * kept(sub.k_norm->weight) /
                           std::sqrt(static_cast<double>(sub.options.head_dim));
    return result;
  }
  // The weight of the output norm goes into the columns of the projection behind it.
  result.projection =
      (kept(sub.c_proj->weight) * kept(sub.o_norm->weight).repeat({sub.heads})).to(options.dtype);
  result.rate = kept(sub.lr_fc->weight);
  result.rate_bias = kept(sub.lr_fc->bias);
  result.start.weights = {kept(sub.w0).unsqueeze(0), kept(sub.w1).unsqueeze(0),
                          kept(sub.w2).unsqueeze(0)};
  result.start.norms = layers::fast_weight_norms(result.start.weights);
  return result;
}

layers::FastWeights LvsmRenderer::Parts::placed(const layers::FastWeights& state) const {
  const auto move = [&](const ops::SwigluMatrices& m) -> ops::SwigluMatrices {
    if (!m.w0.defined()) return m;
    return {m.w0.to(wide_options()), m.w1.to(wide_options()), m.w2.to(wide_options())};
  };
  layers::FastWeights result{move(state.weights), move(state.norms), {}};
  if (!result.has_norms()) result.norms = layers::fast_weight_norms(result.weights);
  return result;
}

void LvsmRenderer::Parts::embed(const CameraTensors& cameras, const at::Tensor& images,
                                const at::Tensor& x) const {
  const CameraTensors here{cameras.c2w.to(options.device), cameras.fxfycxcy.to(options.device),
                           cameras.height, cameras.width};
  const at::Tensor patches = patch_operand(
      here, images.defined() ? images.to(options.device) : images, config.patch_size, wide);
  at::Tensor(x).copy_(normed(linear(patches, input_linear), input_norm));
}

at::Tensor LvsmRenderer::Parts::decode(const at::Tensor& x, std::int64_t height,
                                       std::int64_t width) const {
  at::Tensor pixels = linear(normed(x, decoder_norm), decoder_linear);
  return unpatchify(pixels.sigmoid_(), height, width, config.patch_size);
}

void LvsmRenderer::Parts::attend_rows(const PreparedSubLayer& sub, const at::Tensor& x,
                                      const at::Tensor& operand,
                                      const at::Tensor& key_value) const {
  at::Tensor q = split_heads(linear(operand, sub.query), sub.heads);  // [views, rows, heads, D]
  if (sub.query_scale.defined()) q = rms_norm(q, sub.query_scale, kAttentionNormEpsilon);
  const at::Tensor k = split_heads(key_value.narrow(2, 0, config.dim), sub.heads);
  const at::Tensor v = split_heads(key_value.narrow(2, config.dim, config.dim), sub.heads);
  const std::optional<double> scale =
      sub.query_scale.defined() ? std::optional<double>(1.0) : std::nullopt;
  const at::Tensor attended =
      at::scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), {},
                                       0.0, false, scale);  // [views, heads, rows, D]
  add_product(x.flatten(0, 1), attended.transpose(1, 2).flatten(2).flatten(0, 1), sub.projection);
}

void LvsmRenderer::Parts::attend(const PreparedSubLayer& sub, const at::Tensor& x) const {
  const auto normalise_keys = [&](const at::Tensor& key_value) {
    if (!sub.query_scale.defined()) return;
    const at::Tensor k = key_value.narrow(-1, 0, config.dim);
    at::Tensor(k).copy_(rms_norm(split_heads(k, sub.heads), {}, kAttentionNormEpsilon).flatten(-2));
  };
  const std::int64_t tokens = x.size(1);
  if (tokens <= options.tile_tokens) {
    const at::Tensor shared = operand(x, sub);
    const at::Tensor key_value = linear(shared, sub.key_value);  // [views, n, 2 dim]
    normalise_keys(key_value);
    attend_rows(sub, x, shared, key_value);
    return;
  }
  // One large view: keys and values of all of it, then queries row by row. A row's own residual is
  // the only one that changes.
  const at::Tensor key_value =
      at::empty({1, tokens, 2 * config.dim}, x.options().dtype(options.dtype));
  for (std::int64_t i = 0; i < tokens; i += options.tile_tokens) {
    const std::int64_t rows = std::min(options.tile_tokens, tokens - i);
    const at::Tensor part = key_value.narrow(1, i, rows);
    ops::linear_out(operand(x.narrow(1, i, rows), sub), sub.key_value, {}, part, options.backend);
    normalise_keys(part);
  }
  for (std::int64_t i = 0; i < tokens; i += options.tile_tokens) {
    const at::Tensor rows = x.narrow(1, i, std::min(options.tile_tokens, tokens - i));
    attend_rows(sub, rows, operand(rows, sub), key_value);
  }
}

void LvsmRenderer::Parts::run_mlp(const PreparedSubLayer& sub, const at::Tensor& x) const {
  for_rows(x.flatten(0, 1), [&](const at::Tensor& rows) {
    const at::Tensor hidden = linear(operand(rows, sub), sub.hidden, kGelu);
    add_product(rows, hidden, sub.projection);
  });
}

void LvsmRenderer::Parts::run(const PreparedSubLayer& sub, const at::Tensor& x) const {
  if (sub.options.kind == SubLayerKind::attention)
    attend(sub, x);
  else
    run_mlp(sub, x);
}

void LvsmRenderer::Parts::apply(const PreparedSubLayer& sub, const ops::SwigluMatrices& weights,
                                const at::Tensor& x) const {
  for_rows(x.flatten(0, 1), [&](const at::Tensor& rows) {
    const at::Tensor query = linear(operand(rows, sub), sub.query, kSilu);
    const at::Tensor q = layers::lact_normalise(query.unsqueeze(0), sub.heads);  // [1, rows, dim]
    const at::Tensor out = ops::swiglu_apply(q, weights, options.backend);
    const at::Tensor scaled = rms_norm(split_heads(out, sub.heads), {}, kOutputNormEpsilon);
    add_product(rows, scaled.flatten(2).squeeze(0), sub.projection);
  });
}

LvsmRenderer::Parts::Tokens LvsmRenderer::Parts::tokens(const PreparedSubLayer& sub,
                                                        const at::Tensor& rows) const {
  const at::Tensor exact = normed(rows, sub.norm);
  const at::Tensor raw =
      ops::linear(exact, sub.rate, sub.rate_bias, {}, options.backend);  // [rows, 3 heads]
  const at::Tensor key_value = linear(exact.to(options.dtype), sub.key_value, kSilu).unsqueeze(0);
  return {layers::lact_normalise(key_value.narrow(2, 0, config.dim), sub.heads),
          key_value.narrow(2, config.dim, config.dim),
          layers::lact_learning_rates(raw, sub.options.base_lr).view({1, -1, 3, sub.heads})};
}

double LvsmRenderer::Parts::loss(const PreparedSubLayer& sub, const ops::SwigluMatrices& weights,
                                 const at::Tensor& rows) const {
  const Tokens t = tokens(sub, rows);
  const at::Tensor f = ops::swiglu_apply(t.k, weights, options.backend);
  return -(f.to(at::kDouble) * t.v.to(at::kDouble)).sum().item<double>();
}

void LvsmRenderer::Parts::add_gradient(const PreparedSubLayer& sub,
                                       const ops::SwigluMatrices& weights, const at::Tensor& x,
                                       const ops::SwigluMatrices& sums,
                                       FastWeightReport* report) const {
  for_rows(x.flatten(0, 1), [&](const at::Tensor& rows) {
    const Tokens t = tokens(sub, rows);
    ops::swiglu_gradient_add(t.k, t.v, t.rates, weights, sums, options.backend);
    if (report == nullptr) return;
    report->learning_rate += t.rates.mean().item<double>() * static_cast<double>(rows.size(0));
    report->loss_before += loss(sub, weights, rows);
  });
}

}  // namespace ttt::nvs
