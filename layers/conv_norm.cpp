// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "layers/conv_norm.h"

#include "core/error.h"
#include "kernels/depthwise_conv3x3/depthwise_conv3x3.h"
#include "layers/initialize.h"

#include <torch/torch.h>

namespace ttt::layers {

ConvNorm::Conv::Conv(const ConvNormOptions& options) {
  weight =
      register_parameter("weight", torch::empty({options.out, options.depthwise ? 1 : options.in,
                                                 options.kernel, options.kernel}));
  if (options.bias) bias = register_parameter("bias", torch::empty({options.out}));
}

ConvNorm::ConvNorm(const ConvNormOptions& options) : options_(options) {
  TTT_CHECK(!options.depthwise || (options.kernel == 3 && !options.norm), internal,
            "a depthwise layer has a 3x3 kernel and no norm", "ConvNorm");
  conv_ = register_module("conv", std::make_shared<Conv>(options));
  if (options.norm) norm_ = register_module("norm", std::make_shared<BatchNorm>(options.out));
}

at::Tensor ConvNorm::linear(const at::Tensor& x, ops::Backend backend) const {
  const at::Tensor rows = x.permute({0, 2, 3, 1});  // [B,H,W,in], contiguous for channels-last x
  const ops::LinearFusion fusion{options_.relu && !norm_ ? ops::LinearActivation::relu
                                                         : ops::LinearActivation::none};
  return packed_linear(rows, packed_, conv_->weight.flatten(1), conv_->bias, fusion, backend)
      .permute({0, 3, 1, 2});
}

void ConvNorm::pack() {
  if (options_.depthwise)
    packed_depthwise_ =
        ops::PackedDepthwiseConv(conv_->weight, conv_->bias, conv_->weight.scalar_type());
  else if (is_linear())
    packed_ = ops::PackedLinear(conv_->weight.flatten(1), conv_->bias, conv_->weight.scalar_type());
}

at::Tensor ConvNorm::forward(const at::Tensor& x, ops::Backend backend) const {
  if (options_.depthwise) return depthwise(x, backend);
  if (is_linear() && !norm_) return linear(x, backend);
  at::Tensor y =
      is_linear() ? linear(x, backend)
                  : at::conv2d(x, conv_->weight, conv_->bias, options_.stride, options_.kernel / 2);
  if (norm_) y = norm_->forward(y);
  if (!options_.relu) return y;
  return y.requires_grad() ? at::relu(y) : at::relu_(y);
}

at::Tensor ConvNorm::depthwise(const at::Tensor& x, ops::Backend backend) const {
  const ops::DepthwiseConvOptions fused{
      .stride = options_.stride,
      .activation = options_.relu ? ops::Activation::relu : ops::Activation::none};
  const at::Tensor map = x.permute({0, 2, 3, 1});
  const at::Tensor y =
      packed_fits(packed_depthwise_, conv_->weight, x.scalar_type())
          ? ops::depthwise_conv3x3(map, packed_depthwise_, fused, backend)
          : ops::depthwise_conv3x3(map, conv_->weight, conv_->bias, fused, backend);
  return y.permute({0, 3, 1, 2});
}

void ConvNorm::fold_norm() {
  if (!norm_) return;
  const torch::NoGradGuard no_grad;
  const auto [scale, shift] = norm_->scale_and_shift();
  const at::Tensor weight = conv_->weight.to(at::kDouble) * scale.view({-1, 1, 1, 1});
  at::Tensor bias = shift;
  if (conv_->bias.defined()) bias = bias + conv_->bias.to(at::kDouble) * scale;
  conv_->weight.set_data(weight.to(conv_->weight.scalar_type()));
  if (conv_->bias.defined()) {
    conv_->bias.set_data(bias.to(conv_->bias.scalar_type()));
  } else {
    conv_->bias = conv_->register_parameter("bias", bias.to(conv_->weight.scalar_type()));
  }
  unregister_module("norm");
  norm_ = nullptr;
}

void ConvNorm::initialize(at::Generator generator) {
  fill_convolution_default(conv_->weight, conv_->bias, generator);
  if (norm_) fill_norm_default(*norm_);
}

}  // namespace ttt::layers
