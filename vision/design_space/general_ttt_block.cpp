// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/design_space/general_ttt_block.h"

#include "layers/initialize.h"

#include <torch/torch.h>

namespace ttt::vision {
namespace {

constexpr double kInnerWeightStd = 0.02;  // the published block's, for all models

std::vector<InnerPart> make_parts(std::int64_t dim, std::int64_t heads, const InnerConfig& config) {
  const std::int64_t head_dim = dim / heads;
  if (config.model != InnerModelKind::vit3) return {{config.model, heads, head_dim, config}};
  return {{InnerModelKind::gated_linear, heads, head_dim, config},
          {InnerModelKind::depthwise, 1, head_dim, config}};
}

}  // namespace

GeneralTttBlock::GeneralTttBlock(std::int64_t dim, std::int64_t heads, const InnerConfig& config)
    : config_(config), parts_(make_parts(dim, heads, config)) {
  std::int64_t channels = 0, all_heads = 0;
  for (InnerPart& part : parts_) {
    std::vector<at::Tensor> tensors;
    for (const InnerModel::Parameter& parameter : part.parameters())
      tensors.push_back(register_parameter(parameter.name, torch::empty(parameter.shape)));
    inner_parameters_.insert(inner_parameters_.end(), tensors.begin(), tensors.end());
    part.attach(std::move(tensors));
    channels += part.channels();
    all_heads += part.heads();
  }
  qkv_ = register_module("qkv", std::make_shared<layers::Linear>(dim, 3 * channels));
  proj_ = register_module("proj", std::make_shared<layers::Linear>(channels, dim));
  if (config.rate_rule == InnerRateRule::dynamic)
    lr_ = register_module("lr", std::make_shared<layers::Linear>(dim, all_heads));
}

at::Tensor GeneralTttBlock::forward(const MixerInput& input, Grid grid, const ops::RopeTable* rope,
                                    const ForwardContext& context, const std::string& name) const {
  // Two maps read the normalised tokens where rates are dynamic: one norm for both.
  const at::Tensor x = input.norm != nullptr ? input.norm->forward(input.x) : input.x;  // [B,N,C]
  const at::Tensor qkv =
      qkv_->forward(x, {}, context.backend);  // [B,N,3·channels]: q1 k1 v1, then vit3's q2 k2 v2
  context.emit(name + ".qkv", qkv);
  const at::Tensor rates =
      lr_ ? at::sigmoid(lr_->forward(x, {}, context.backend)) : at::Tensor();  // [B,N,heads]
  InnerStepReport report{.layer = name, .learning_rate = config_.learning_rate};
  std::vector<at::Tensor> answers;  // [B,N,channels of the part]
  std::int64_t channel = 0, head = 0;
  for (const InnerPart& part : parts_) {
    const std::int64_t width = part.channels();
    InnerTokens tokens{qkv.narrow(2, channel, width), qkv.narrow(2, channel + width, width),
                       qkv.narrow(2, channel + 2 * width, width),
                       lr_ ? rates.narrow(2, head, part.heads()) : at::Tensor()};
    if (rope != nullptr && channel == 0) {
      tokens.q = ops::rope_2d(tokens.q, *rope, context.backend);
      tokens.k = ops::rope_2d(tokens.k, *rope, context.backend);
    }
    answers.push_back(
        part.forward(tokens, {grid, context, context.reports != nullptr ? &report : nullptr}));
    channel += 3 * width;
    head += part.heads();
  }
  if (context.reports != nullptr) context.reports->push_back(std::move(report));
  const at::Tensor mixed = at::cat(answers, 2);  // [B,N,channels]
  context.emit(name + ".mixed", mixed);
  const at::Tensor out =
      proj_->forward(mixed, {.residual = input.residual()}, context.backend);  // [B,N,C]
  context.emit(name + ".out", out);
  return out;
}

void GeneralTttBlock::initialize(at::Generator generator) {
  for (const at::Tensor& parameter : inner_parameters_)
    layers::fill_truncated_normal(parameter, kInnerWeightStd, generator);
  layers::fill_linear_default(*qkv_, generator);
  layers::fill_linear_default(*proj_, generator);
  if (lr_) layers::fill_linear_default(*lr_, generator);
}

}  // namespace ttt::vision
