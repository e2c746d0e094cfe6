// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/hvit3.h"

#include "core/error.h"
#include "layers/conv_norm.h"
#include "layers/initialize.h"
#include "vision/block.h"
#include "vision/classification_model.h"
#include "vision/rope_tables.h"
#include "vision/token_ops.h"

#include <torch/torch.h>

#include <numeric>
#include <utility>

namespace ttt::vision {
namespace {

constexpr double kLayerNormEpsilon = 1e-5;
constexpr std::int64_t kImageChannels = 3;
constexpr const char* kHint = "`ttt list models` shows dimensions that work";
constexpr std::int64_t kMergeExpansion = 4;
constexpr std::int64_t kSizeMultiple = 32;  // stem stride 4, three mergings of stride 2

std::shared_ptr<layers::ConvNorm> conv(layers::ConvNormOptions options) {
  return std::make_shared<layers::ConvNorm>(options);
}

/// A run of ConvNorm layers under the key "conv".
class ConvSequence : public torch::nn::Module {
 public:
  explicit ConvSequence(const std::vector<layers::ConvNormOptions>& options) {
    const auto list = register_module("conv", std::make_shared<torch::nn::Module>());
    for (std::size_t i = 0; i < options.size(); ++i)
      layers_.push_back(list->register_module(std::to_string(i), conv(options[i])));
  }

  /// x [B,C,H,W], channels-last.
  at::Tensor forward(at::Tensor x, const ForwardContext& context, const std::string& name) const {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      x = layers_[i]->forward(x, context.backend);
      context.emit(name + ".conv." + std::to_string(i), x);
    }
    return x;
  }

  void initialize(at::Generator generator) {
    for (const auto& layer : layers_) layer->initialize(generator);
  }
  void fold_norms() {
    for (const auto& layer : layers_) layer->fold_norm();
  }

 private:
  std::vector<std::shared_ptr<layers::ConvNorm>> layers_;
};

/// Five convolutions that take the image to a quarter of its size.
std::shared_ptr<ConvSequence> make_stem(std::int64_t dim) {
  const std::int64_t half = dim / 2;
  return std::make_shared<ConvSequence>(std::vector<layers::ConvNormOptions>{
      {.in = kImageChannels, .out = half, .kernel = 3, .stride = 2, .relu = true},
      {.in = half, .out = half, .kernel = 3, .relu = true},
      {.in = half, .out = half, .kernel = 3, .relu = true},
      {.in = half, .out = 4 * dim, .kernel = 3, .stride = 2, .relu = true},
      {.in = 4 * dim, .out = dim}});
}

/// Patch merging: halves the grid and goes from `in` to `out` channels.
std::shared_ptr<ConvSequence> make_downsample(std::int64_t in, std::int64_t out) {
  const std::int64_t wide = kMergeExpansion * out;
  return std::make_shared<ConvSequence>(std::vector<layers::ConvNormOptions>{
      {.in = in, .out = wide, .bias = true, .norm = false, .relu = true},
      {.in = wide,
       .out = wide,
       .kernel = 3,
       .stride = 2,
       .depthwise = true,
       .bias = true,
       .norm = false,
       .relu = true},
      {.in = wide, .out = out, .bias = true}});
}

class Stage : public torch::nn::Module {
 public:
  Stage(const HVit3Config& config, std::size_t index) : dim_(config.dims[index]) {
    const std::int64_t first_block = std::accumulate(
        config.depths.begin(), config.depths.begin() + static_cast<std::ptrdiff_t>(index),
        std::int64_t{0});
    const auto blocks = register_module("blocks", std::make_shared<torch::nn::Module>());
    for (std::int64_t j = 0; j < config.depths[index]; ++j)
      blocks_.push_back(blocks->register_module(
          std::to_string(j),
          std::make_shared<Block>(BlockOptions{.index = first_block + j,
                                               .dim = dim_,
                                               .heads = config.heads[index],
                                               .mlp_ratio = config.mlp_ratio,
                                               .layer_norm_epsilon = kLayerNormEpsilon,
                                               .inner = config.inner,
                                               .depthwise_mlp = true})));
    if (index + 1 < kStages)
      downsample_ = register_module("downsample", make_downsample(dim_, config.dims[index + 1]));
  }

  /// x [B,N,C] -> tokens of the next stage (of this one after the last) and their grid.
  std::pair<at::Tensor, Grid> forward(at::Tensor x, Grid grid, const ForwardContext& context,
                                      const std::string& name) const {
    const ops::RopeTable rope = rope_table(context.rope_tables.get(), grid, dim_, x.device());
    for (std::size_t j = 0; j < blocks_.size(); ++j)
      x = run_block(
          [block = blocks_[j], grid, rope, context,
           block_name = name + ".blocks." + std::to_string(j)](const at::Tensor& in) {
            return block->forward(in, grid, &rope, context, block_name);
          },
          x, context);
    if (!downsample_) return {x, grid};
    x = map_to_tokens(downsample_->forward(tokens_to_map(x, grid), context, name + ".downsample"));
    context.emit(name + ".downsample", x);
    return {x, Grid{grid.height / 2, grid.width / 2}};
  }

  void initialize(at::Generator generator) {
    for (const auto& block : blocks_) block->initialize(generator);
    if (downsample_) downsample_->initialize(generator);
  }
  void fold_norms() {
    if (downsample_) downsample_->fold_norms();
  }

 private:
  std::int64_t dim_;
  std::vector<std::shared_ptr<Block>> blocks_;
  std::shared_ptr<ConvSequence> downsample_;
};

class HVit3 : public ClassificationModel {
 public:
  explicit HVit3(const HVit3Config& config)
      : blocks_(std::accumulate(config.depths.begin(), config.depths.end(), std::int64_t{0})) {
    patch_embed_ = register_module("patch_embed", make_stem(config.dims[0]));
    const auto stages = register_module("layers", std::make_shared<torch::nn::Module>());
    for (std::size_t i = 0; i < kStages; ++i)
      stages_.push_back(
          stages->register_module(std::to_string(i), std::make_shared<Stage>(config, i)));
    norm_ = register_module("norm", std::make_shared<layers::BatchNorm>(config.dims.back()));
    head_ = register_module("head",
                            std::make_shared<layers::Linear>(config.dims.back(), config.classes));
  }

  ClassificationOutput forward(const at::Tensor& images,
                               const ForwardContext& context) const override {
    check_image_size(images.size(3), images.size(2), size_multiple());
    const at::ScalarType dtype = head_->weight.scalar_type();
    at::Tensor x = images.to(dtype).contiguous(at::MemoryFormat::ChannelsLast);  // [B,3,H,W]
    x = map_to_tokens(patch_embed_->forward(x, context, "patch_embed"));         // [B,N,C0]
    context.emit("patch_embed", x);
    Grid grid{images.size(2) / 4, images.size(3) / 4};
    for (std::size_t i = 0; i < stages_.size(); ++i)
      std::tie(x, grid) = stages_[i]->forward(x, grid, context, "layers." + std::to_string(i));
    const at::Tensor features = pooled(x, context);                    // [B,C]
    return {head_->forward(features, {}, context.backend), features};  // [B,classes]
  }

  std::int64_t blocks() const override { return blocks_; }
  std::int64_t size_multiple() const override { return kSizeMultiple; }

  void initialize(std::uint64_t seed) override {
    const at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
    patch_embed_->initialize(generator);
    for (const auto& stage : stages_) stage->initialize(generator);
    layers::fill_norm_default(*norm_);
    layers::fill_linear_default(*head_, generator);
  }

  void prepare_for_inference() override {
    patch_embed_->fold_norms();
    for (const auto& stage : stages_) stage->fold_norms();
  }

 private:
  /// Batch norm and mean over tokens; in evaluation mode the norm, being affine, moves behind the
  /// mean. x [B,N,C] -> [B,C].
  at::Tensor pooled(const at::Tensor& x, const ForwardContext& context) const {
    if (is_training()) return norm_->forward(x.transpose(1, 2)).mean(2);
    if (context.trace) context.emit("norm", norm_->forward(x.transpose(1, 2)));  // [B,C,N]
    return norm_->forward(x.mean(1));
  }

  std::int64_t blocks_;
  std::shared_ptr<ConvSequence> patch_embed_;
  std::vector<std::shared_ptr<Stage>> stages_;
  std::shared_ptr<layers::BatchNorm> norm_;
  std::shared_ptr<layers::Linear> head_;
};

}  // namespace

std::shared_ptr<ClassificationModel> make_hvit3(const HVit3Config& config) {
  TTT_CHECK(config.classes > 0 && config.mlp_ratio > 0, usage,
            "the dimensions of an H-ViT3 model must be positive", "hvit3", kHint);
  for (std::size_t i = 0; i < kStages; ++i) {
    const std::string stage = "stage " + std::to_string(i);
    TTT_CHECK(config.dims[i] > 0 && config.depths[i] > 0 && config.heads[i] > 0, usage,
              "the dimensions of " + stage + " must be positive", "hvit3", kHint);
    TTT_CHECK(config.dims[i] % config.heads[i] == 0, usage,
              "dim " + std::to_string(config.dims[i]) + " of " + stage +
                  " is not a multiple of its heads " + std::to_string(config.heads[i]),
              "hvit3", kHint);
    TTT_CHECK(config.dims[i] % 4 == 0, usage,
              "dim " + std::to_string(config.dims[i]) + " of " + stage +
                  " is not a multiple of 4, as the rotary embedding needs",
              "hvit3", kHint);
  }
  return std::make_shared<HVit3>(config);
}

}  // namespace ttt::vision
