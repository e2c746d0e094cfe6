// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/vit3.h"

#include "core/error.h"
#include "layers/holders.h"
#include "layers/initialize.h"
#include "vision/block.h"
#include "vision/classification_model.h"
#include "vision/token_ops.h"

#include <ATen/autocast_mode.h>
#include <torch/torch.h>

#include <algorithm>

namespace ttt::vision {
namespace {

constexpr double kLayerNormEpsilon = 1e-6;
constexpr std::int64_t kImageChannels = 3;
constexpr const char* kHint = "`ttt list models` shows dimensions that work";

/// Pictures [B,3,H,W] in the weights' dtype or in float -> tokens [B,N,C].
class PatchEmbed : public torch::nn::Module, public layers::Packable {
 public:
  PatchEmbed(std::int64_t patch, std::int64_t dim) : patch_(patch) {
    proj_ = register_module("proj", std::make_shared<Projection>(patch, dim));
  }

  at::Tensor forward(const at::Tensor& images, ops::Backend backend) const {
    const at::ScalarType dtype = proj_->weight.scalar_type();
    if (images.is_cpu() && !at::autocast::is_autocast_enabled(at::kCPU) &&
        layers::packed_fits(packed_, proj_->weight, dtype))
      return project_patches(images, backend);
    const at::Tensor map =
        at::conv2d(images.to(dtype), proj_->weight, proj_->bias, patch_);  // [B,C,h,w]
    return map.flatten(2).transpose(1, 2).contiguous();                    // [B,N,C]
  }

  void pack() override {
    packed_ = ops::PackedLinear(proj_->weight.flatten(1), proj_->bias, proj_->weight.scalar_type());
  }

  void initialize(at::Generator generator) {
    layers::fill_convolution_default(proj_->weight, proj_->bias, generator);
  }

 private:
  struct Projection : torch::nn::Module {
    Projection(std::int64_t patch, std::int64_t dim) {
      weight = register_parameter("weight", torch::empty({dim, kImageChannels, patch, patch}));
      bias = register_parameter("bias", torch::empty({dim}));
    }
    at::Tensor weight, bias;
  };

  /// The convolution as a linear map of patches, some rows of the grid at a time: neither the
  /// pictures nor their patches are held a second time.
  at::Tensor project_patches(const at::Tensor& images, ops::Backend backend) const {
    constexpr std::int64_t kPatches = 512;
    const std::int64_t batch = images.size(0), h = images.size(2) / patch_,
                       w = images.size(3) / patch_, step = std::max<std::int64_t>(1, kPatches / w);
    const at::TensorOptions options = images.options().dtype(packed_.dtype());
    const at::Tensor out = at::empty({batch, h * w, packed_.out()}, options);  // [B,N,C]
    const at::Tensor patches =
        at::empty({std::min(step, h), w, kImageChannels, patch_, patch_}, options);
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t row = 0; row < h; row += step) {
        const std::int64_t rows = std::min(step, h - row);
        const at::Tensor strip = images[b].narrow(1, row * patch_, rows * patch_);
        const at::Tensor part = patches.narrow(0, 0, rows);
        part.copy_(strip.unflatten(1, {rows, patch_})
                       .unflatten(3, {w, patch_})
                       .permute({1, 3, 0, 2, 4}));  // [rows,w,3,p,p]
        ops::linear_out(part.view({rows * w, packed_.in()}), packed_, {},
                        out[b].narrow(0, row * w, rows * w), backend);
      }
    return out;
  }

  std::int64_t patch_;
  std::shared_ptr<Projection> proj_;
  ops::PackedLinear packed_;
};

BlockOptions block_options(const Vit3Config& config, std::int64_t index) {
  return {.index = index,
          .dim = config.dim,
          .heads = config.heads,
          .mlp_ratio = config.mlp_ratio,
          .layer_norm_epsilon = kLayerNormEpsilon,
          .inner = config.inner};
}

class Vit3 : public ClassificationModel {
 public:
  explicit Vit3(const Vit3Config& config) : config_(config) {
    patch_embed_ =
        register_module("patch_embed", std::make_shared<PatchEmbed>(config.patch, config.dim));
    const auto blocks = register_module("blocks", std::make_shared<torch::nn::Module>());
    for (std::int64_t i = 0; i < config.depth; ++i)
      blocks_.push_back(blocks->register_module(std::to_string(i),
                                                std::make_shared<Block>(block_options(config, i))));
    norm_ =
        register_module("norm", std::make_shared<layers::LayerNorm>(config.dim, kLayerNormEpsilon));
    // pre_logits: identity
    head_ = register_module("head", std::make_shared<layers::Linear>(config.dim, config.classes));
  }

  ClassificationOutput forward(const at::Tensor& images,
                               const ForwardContext& context) const override {
    check_image_size(images.size(3), images.size(2), size_multiple());
    const Grid grid{images.size(2) / config_.patch, images.size(3) / config_.patch};
    at::Tensor x = patch_embed_->forward(images, context.backend);  // [B,N,C]
    context.emit("patch_embed", x);
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      x = run_block(
          [block = blocks_[i], grid, context, name = "blocks." + std::to_string(i)](
              const at::Tensor& in) { return block->forward(in, grid, nullptr, context, name); },
          x, context);
    x = norm_->forward(x);  // [B,N,C]
    context.emit("norm", x);
    const at::Tensor features = x.mean(1);                             // [B,C]
    return {head_->forward(features, {}, context.backend), features};  // [B,classes]
  }

  std::int64_t blocks() const override { return config_.depth; }
  std::int64_t size_multiple() const override { return config_.patch; }

  void initialize(std::uint64_t seed) override {
    const at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
    patch_embed_->initialize(generator);
    for (const auto& block : blocks_) block->initialize(generator);
    layers::fill_norm_default(*norm_);
    layers::fill_linear_default(*head_, generator);
  }

  void prepare_for_inference() override {}  // There is no batch norm to fold.

 private:
  Vit3Config config_;
  std::shared_ptr<PatchEmbed> patch_embed_;
  std::vector<std::shared_ptr<Block>> blocks_;
  std::shared_ptr<layers::LayerNorm> norm_;
  std::shared_ptr<layers::Linear> head_;
};

}  // namespace

std::shared_ptr<ClassificationModel> make_vit3(const Vit3Config& config) {
  TTT_CHECK(config.dim > 0 && config.depth > 0 && config.heads > 0 && config.patch > 0 &&
                config.classes > 0 && config.mlp_ratio > 0,
            usage, "the dimensions of a ViT3 model must be positive", "vit3", kHint);
  TTT_CHECK(config.dim % config.heads == 0, usage,
            "dim " + std::to_string(config.dim) + " is not a multiple of heads " +
                std::to_string(config.heads),
            "vit3", kHint);
  return std::make_shared<Vit3>(config);
}

}  // namespace ttt::vision
