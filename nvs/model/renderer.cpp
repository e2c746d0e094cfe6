// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/model/renderer.h"

#include "core/cancel.h"
#include "core/error.h"
#include "nvs/model/patches.h"
#include "nvs/model/renderer_parts.h"

#include <torch/torch.h>

#include <cmath>

namespace ttt::nvs {
namespace {

const layers::FastWeights& weights_of(const FastWeightMap& state, const std::string& name) {
  const auto found = state.find(name);
  TTT_CHECK(found != state.end(), usage, "the state has no fast weights for " + name, "scene state",
            "use a state that was made with this model");
  return found->second;
}

/// Of the three matrices together.
double length(const ops::SwigluMatrices& m) {
  double sum = 0;
  for (const at::Tensor& matrix : {m.w0, m.w1, m.w2})
    sum += std::pow(at::linalg_vector_norm(matrix).item<double>(), 2);
  return std::sqrt(sum);
}

ops::SwigluMatrices zeros_like(const ops::SwigluMatrices& m) {
  return {at::zeros(m.w0.sizes(), m.w0.options()), at::zeros(m.w1.sizes(), m.w1.options()),
          at::zeros(m.w2.sizes(), m.w2.options())};
}

/// One reconstruction in progress.
class Reconstruction {
 public:
  Reconstruction(const LvsmRenderer::Parts& parts, const PosedViews& views, FastWeightMap state,
                 const ReconstructContext& context)
      : parts_(parts),
        views_(views),
        state_(std::move(state)),
        context_(context),
        count_(views.cameras.views()),
        tokens_(parts.tokens_per_view(views.cameras)),
        group_(parts.views_per_tile(tokens_)),
        residual_(at::empty({count_, tokens_, parts.config.dim}, parts.wide_options())) {}

  FastWeightMap run() {
    const auto updates = static_cast<std::int64_t>(state_.size());
    Progress progress("reconstruct", updates * ((count_ + group_ - 1) / group_), context_.progress);
    for (std::size_t i = 0; i < parts_.subs.size(); ++i)
      if (parts_.subs[i].options.kind == SubLayerKind::fast_weights) sweep(i, progress);
    return std::move(state_);
  }

 private:
  /// Brings every tile to sub-layer `i` and updates its fast weights.
  void sweep(std::size_t i, Progress& progress) {
    const PreparedSubLayer& sub = parts_.subs[i];
    const layers::FastWeights before = parts_.placed(weights_of(state_, sub.name));
    const ops::SwigluMatrices sums = zeros_like(before.weights);
    FastWeightReport report{.layer = sub.name};
    FastWeightReport* const wanted = context_.reports != nullptr ? &report : nullptr;
    for (std::int64_t first = 0; first < count_; first += group_) {
      TTT_CHECK(!cancel_requested(), interrupted, "interrupted while reconstructing");
      const at::Tensor x = residual_.narrow(0, first, std::min(group_, count_ - first));
      bring(first, i, x);
      parts_.add_gradient(sub, before.weights, x, sums, wanted);
      progress.advance();
    }
    layers::FastWeights after = layers::lact_update(
        before, sums, {},
        lact_options(sub.options, parts_.options.backend, parts_.options.bf16_newton_schulz));
    if (wanted != nullptr) finish_report(sub, before, after, sums, report);
    state_[sub.name] = std::move(after);
    updated_ = &sub;
    next_ = i + 1;
  }

  /// What lies between the last update and sub-layer `i`, for one tile.
  void bring(std::int64_t first, std::size_t i, const at::Tensor& x) const {
    if (updated_ == nullptr)
      parts_.embed(views_.cameras.narrow(first, x.size(0)),
                   views_.images.narrow(0, first, x.size(0)), x);
    else
      parts_.apply(*updated_, state_.at(updated_->name).weights, x);
    for (std::size_t j = next_; j < i; ++j) parts_.run(parts_.subs[j], x);
  }

  void finish_report(const PreparedSubLayer& sub, const layers::FastWeights& before,
                     const layers::FastWeights& after, const ops::SwigluMatrices& sums,
                     FastWeightReport& report) const {
    const auto all = static_cast<double>(count_ * tokens_);
    parts_.for_rows(residual_.flatten(0, 1), [&](const at::Tensor& rows) {
      report.loss_after += parts_.loss(sub, after.weights, rows) / all;
    });
    report.loss_before /= all;
    report.learning_rate /= all;
    report.gradient_norm = length(sums);
    report.weight_norm = length(before.weights);
    report.update_ratio =
        length({after.weights.w0 - before.weights.w0, after.weights.w1 - before.weights.w1,
                after.weights.w2 - before.weights.w2}) /
        std::max(report.weight_norm, 1e-30);
    context_.reports->push_back(report);
  }

  const LvsmRenderer::Parts& parts_;
  const PosedViews& views_;
  FastWeightMap state_;
  const ReconstructContext& context_;
  std::int64_t count_, tokens_, group_;
  at::Tensor residual_;  // [views, tokens, dim]
  const PreparedSubLayer* updated_ = nullptr;
  std::size_t next_ = 0;  // the first sub-layer that no tile has seen
};

}  // namespace

LvsmRenderer::LvsmRenderer(const LvsmModel& model, const RendererOptions& options)
    : parts_(std::make_unique<Parts>(model, options)) {}
LvsmRenderer::~LvsmRenderer() = default;
LvsmRenderer::LvsmRenderer(LvsmRenderer&&) noexcept = default;
LvsmRenderer& LvsmRenderer::operator=(LvsmRenderer&&) noexcept = default;

const LvsmConfig& LvsmRenderer::config() const {
  return parts_->config;
}
const RendererOptions& LvsmRenderer::options() const {
  return parts_->options;
}

FastWeightMap LvsmRenderer::initial_state() const {
  FastWeightMap state;
  for (const PreparedSubLayer& sub : parts_->subs)
    if (sub.options.kind == SubLayerKind::fast_weights) state[sub.name] = sub.start;
  return state;
}

FastWeightMap LvsmRenderer::reconstruct(const PosedViews& views, const FastWeightMap* start,
                                        const ReconstructContext& context) const {
  const torch::NoGradGuard no_grad;
  const CameraTensors& cameras = views.cameras;
  check_picture_size(cameras.width, cameras.height, config().patch_size);
  TTT_CHECK(cameras.c2w.dim() == 3 && cameras.views() > 0 && views.images.defined() &&
                views.images.dim() == 4 && views.images.size(0) == cameras.views(),
            usage, "a reconstruction needs one picture for each camera", "novel views",
            "pass images [V, 3, H, W] and cameras [V, 4, 4]");
  return Reconstruction(*parts_, views, start != nullptr ? *start : initial_state(), context).run();
}

at::Tensor LvsmRenderer::render(const FastWeightMap& state, const CameraTensors& cameras) const {
  const torch::NoGradGuard no_grad;
  const Parts& parts = *parts_;
  check_picture_size(cameras.width, cameras.height, config().patch_size);
  TTT_CHECK(cameras.c2w.dim() == 3 && cameras.views() > 0, usage, "there are no cameras to render",
            "novel views", "pass cameras [V, 4, 4]");
  FastWeightMap here;
  for (const PreparedSubLayer& sub : parts.subs)
    if (sub.options.kind == SubLayerKind::fast_weights)
      here[sub.name] = parts.placed(weights_of(state, sub.name));
  const std::int64_t tokens = parts.tokens_per_view(cameras);
  const std::int64_t group = parts.views_per_tile(tokens), count = cameras.views();
  const at::Tensor pictures =
      at::empty({count, 3, cameras.height, cameras.width}, at::TensorOptions().dtype(parts.wide));
  for (std::int64_t first = 0; first < count; first += group) {
    const std::int64_t now = std::min(group, count - first);
    const at::Tensor x = at::empty({now, tokens, parts.config.dim}, parts.wide_options());
    parts.embed(cameras.narrow(first, now), {}, x);
    for (const PreparedSubLayer& sub : parts.subs) {
      if (sub.options.kind == SubLayerKind::fast_weights)
        parts.apply(sub, here.at(sub.name).weights, x);
      else
        parts.run(sub, x);
    }
    const at::Tensor decoded = parts.decode(x, cameras.height, cameras.width);
    // Values are from 0 to 1, so that only such as are no numbers show in their sum.
    TTT_CHECK(std::isfinite(decoded.sum().item<double>()), weights,
              "the rendered values are not numbers", "novel views",
              "the weights, or the scene state, are damaged: get them again");
    pictures.narrow(0, first, now).copy_(decoded);
  }
  return pictures;
}

}  // namespace ttt::nvs
