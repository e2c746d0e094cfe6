// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/depthwise_conv3x3/depthwise_conv3x3.h"

#include "kernels/depthwise_conv3x3/backends.h"
#include "kernels/support/checks.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>

namespace ttt::ops {

const OpSupport& depthwise_conv3x3_support();  // for the registry

namespace {

constexpr std::string_view kOp = "depthwise_conv3x3";

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

Backend choose(Backend requested, at::TensorList tensors) {
  return resolve(depthwise_conv3x3_support(), requested, tensors);
}

at::Tensor run(Backend backend, const at::Tensor& x, const at::Tensor& taps, const at::Tensor& bias,
               const DepthwiseConvOptions& options) {
  switch (backend) {
    case Backend::reference:
      return reference::depthwise_conv3x3(x, taps, bias, options);
    case Backend::cuda:
      return cuda::depthwise_conv3x3(x, taps, bias, options);
    default:
      return cpu::depthwise_conv3x3(x, taps, bias, options);
  }
}

struct ConvFunction : Function<ConvFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& taps,
                            const std::optional<at::Tensor>& given_bias,
                            const DepthwiseConvOptions& options, std::int64_t backend) {
    const at::Tensor bias = given_bias.value_or(at::Tensor());
    context->save_for_backward({x, taps, bias});
    context->saved_data["stride"] = options.stride;
    context->saved_data["add_input"] = options.add_input;
    context->saved_data["activation"] = static_cast<std::int64_t>(options.activation);
    context->saved_data["backend"] = backend;
    return run(static_cast<Backend>(backend), x, taps, bias, options);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    refuse_second_derivative(kOp);
    const variable_list saved = context->get_saved_variables();
    auto& data = context->saved_data;
    const DepthwiseConvOptions options{data["stride"].toInt(), data["add_input"].toBool(),
                                       static_cast<Activation>(data["activation"].toInt())};
    const at::Tensor dout = with_contiguous_rows(gradients[0]);
    DepthwiseConvGradients result;
    switch (static_cast<Backend>(data["backend"].toInt())) {
      case Backend::reference:
        result = reference::depthwise_conv3x3_backward(saved[0], saved[1], saved[2], options, dout);
        break;
      case Backend::cuda:
        result = cuda::depthwise_conv3x3_backward(saved[0], saved[1], saved[2], options, dout);
        break;
      default:
        result = cpu::depthwise_conv3x3_backward(saved[0], saved[1], saved[2], options, dout);
    }
    return {result.dx, result.dtaps, saved[2].defined() ? result.dbias : at::Tensor(), {}, {}};
  }
};

/// A parameter in the accumulation dtype; it may come in that or in x's dtype.
at::Tensor in_accumulation_dtype(std::string_view name, const at::Tensor& parameter,
                                 const at::Tensor& x) {
  return to_accumulation_dtype(kOp, name, parameter, x);
}

}  // namespace

const OpSupport& depthwise_conv3x3_support() {
  static const OpSupport support{
      kOp, {at::kFloat, at::kBFloat16}, cuda::depthwise_conv3x3_dtypes()};
  return support;
}

at::Tensor depthwise_conv3x3(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                             const DepthwiseConvOptions& options, Backend requested) {
  check_shape(kOp, "x", x, {-1, -1, -1, -1});
  check_shape(kOp, "weight", weight, {x.size(3), 1, 3, 3});
  if (bias.defined()) check_shape(kOp, "bias", bias, {x.size(3)});
  TTT_CHECK(options.stride == 1 || options.stride == 2, usage,
            fmt::format("stride {} is not available", options.stride), std::string(kOp),
            "use stride 1 or 2");
  TTT_CHECK(options.stride == 1 || !options.add_input, usage,
            "the input can't be added to an output of another size", std::string(kOp),
            "use add_input with stride 1 only");
  const Backend backend = choose(requested, {x, weight, bias});
  const at::Tensor input = with_contiguous_rows(x);
  const at::Tensor taps = in_accumulation_dtype("weight", weight, x)
                              .squeeze(1)
                              .permute({1, 2, 0})
                              .contiguous();  // [3, 3, C]
  const at::Tensor shift =
      bias.defined() ? in_accumulation_dtype("bias", bias, x).contiguous() : bias;
  if (needs_gradient({x, weight, bias}))
    return ConvFunction::apply(input, taps, shift.defined() ? std::optional(shift) : std::nullopt,
                               options, static_cast<std::int64_t>(backend));
  return run(backend, input, taps, shift, options);
}

}  // namespace ttt::ops
