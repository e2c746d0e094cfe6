// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/depthwise_conv3x3/depthwise_conv3x3.h"
#include "kernels/registry.h"
#include "kernels/support/checks.h"

#include <ATen/ATen.h>

namespace ttt::ops {

std::vector<OpCase> depthwise_conv3x3_cases();

namespace {

struct Sizes {
  std::int64_t batch, height, width, channels;
};

constexpr DepthwiseConvOptions kPositions{1, true, Activation::none};  // ViT3's cpe
constexpr DepthwiseConvOptions kMlp{1, true, Activation::gelu};        // H-ViT3's mlp.dwc
constexpr DepthwiseConvOptions kMerging{2, false, Activation::relu};   // H-ViT3's downsample

std::string label(const Sizes& s, const DepthwiseConvOptions& options, bool bias) {
  const char* activation = options.activation == Activation::gelu   ? " gelu"
                           : options.activation == Activation::relu ? " relu"
                                                                    : "";
  return fmt::format("b{} {}x{} c{} stride{}{}{}{}", s.batch, s.height, s.width, s.channels,
                     options.stride, options.add_input ? " add" : "", activation,
                     bias ? "" : " no bias");
}

OpCase conv_case(const Sizes& s, const DepthwiseConvOptions& options, bool bias = true) {
  OpCase result;
  result.name = label(s, options, bias);
  result.inputs = [=](at::ScalarType dtype) {
    const at::ScalarType parameters = accumulation_dtype(dtype);
    std::vector<at::Tensor> inputs{
        case_tensor("x", {s.batch, s.height, s.width, s.channels + 7})
            .to(dtype)
            .narrow(3, 5, s.channels),
        case_tensor("weight", {s.channels, 1, 3, 3}, 0.3).to(parameters)};
    if (bias) inputs.push_back(case_tensor("bias", {s.channels}).to(parameters));
    return inputs;
  };
  result.run = [=](const std::vector<at::Tensor>& in, Backend backend) {
    return std::vector<at::Tensor>{
        depthwise_conv3x3(in[0], in[1], bias ? in[2] : at::Tensor(), options, backend)};
  };
  const double size = static_cast<double>(s.batch * s.height * s.width * s.channels);
  const double outputs = size / static_cast<double>(options.stride * options.stride);
  result.flops = 18 * outputs;
  result.elements = size + outputs;
  return result;
}

}  // namespace

std::vector<OpCase> depthwise_conv3x3_cases() {
  std::vector<OpCase> cases;
  for (const Sizes& s : std::initializer_list<Sizes>{{2, 3, 4, 16},
                                                     {1, 1, 1, 3},
                                                     {1, 1, 9, 32},
                                                     {2, 6, 1, 13},
                                                     {1, 7, 10, 72},
                                                     {0, 3, 3, 8},
                                                     {2, 0, 3, 8},
                                                     {1, 2, 2, 0}})
    for (const DepthwiseConvOptions& options : {DepthwiseConvOptions{}, kPositions, kMlp, kMerging,
                                                DepthwiseConvOptions{1, false, Activation::relu},
                                                DepthwiseConvOptions{2, false, Activation::gelu}})
      cases.push_back(conv_case(s, options));
  cases.push_back(conv_case({2, 5, 6, 24}, kMlp, false));
  cases.push_back(conv_case({2, 5, 6, 24}, {2, false, Activation::none}, false));
  cases.push_back(conv_case({1, 40, 41, 8}, kPositions));
  for (const auto& [s, options] : std::initializer_list<std::pair<Sizes, DepthwiseConvOptions>>{
           {{8, 14, 14, 192}, kPositions},
           {{1, 64, 64, 192}, kPositions},
           {{2, 56, 56, 256}, kMlp},
           {{8, 14, 14, 1280}, kMlp},
           {{2, 56, 56, 512}, kMerging}}) {
    cases.push_back(conv_case(s, options));
    cases.back().large = true;
  }
  return cases;
}

}  // namespace ttt::ops
