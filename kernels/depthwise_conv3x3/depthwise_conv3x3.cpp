// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/depthwise_conv3x3/depthwise_conv3x3.h"

#include "kernels/depthwise_conv3x3/backends.h"
#include "kernels/support/checks.h"
#include "kernels/support/packed.h"

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

DepthwiseConvGradients run_backward(Backend backend, const DepthwiseConvSaved& prepared,
                                    const DepthwiseConvOptions& options, const at::Tensor& dout) {
  const auto& [x, taps, bias] = prepared;
  switch (backend) {
    case Backend::reference:
      return reference::depthwise_conv3x3_backward(x, taps, bias, options, dout);
    case Backend::cuda:
      return cuda::depthwise_conv3x3_backward(x, taps, bias, options, dout);
    default:
      return cpu::depthwise_conv3x3_backward(x, taps, bias, options, dout);
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
    const DepthwiseConvGradients result =
        run_backward(static_cast<Backend>(data["backend"].toInt()), {saved[0], saved[1], saved[2]},
                     options, with_contiguous_rows(gradients[0]));
    return {result.dx, result.dtaps, saved[2].defined() ? result.dbias : at::Tensor(), {}, {}};
  }
};

/// A parameter in the accumulation dtype; it may come in that or in x's dtype.
at::Tensor in_accumulation_dtype(std::string_view name, const at::Tensor& parameter,
                                 const at::Tensor& x) {
  return to_accumulation_dtype(kOp, name, parameter, x);
}

/// [C, 1, 3, 3] in the accumulation dtype as [3, 3, C].
at::Tensor channels_last(const at::Tensor& weight) {
  return weight.squeeze(1).permute({1, 2, 0}).contiguous();
}

void check_shapes(const DepthwiseConvSaved& given) {
  const auto& [x, weight, bias] = given;
  check_shape(kOp, "x", x, {-1, -1, -1, -1});
  check_shape(kOp, "weight", weight, {x.size(3), 1, 3, 3});
  if (bias.defined()) check_shape(kOp, "bias", bias, {x.size(3)});
}

void check_options(const DepthwiseConvOptions& options) {
  TTT_CHECK(options.stride == 1 || options.stride == 2, usage,
            fmt::format("stride {} is not available", options.stride), std::string(kOp),
            "use stride 1 or 2");
  TTT_CHECK(options.stride == 1 || !options.add_input, usage,
            "the input can't be added to an output of another size", std::string(kOp),
            "use add_input with stride 1 only");
}

/// The arguments, checked, as the backends take them.
struct Arguments {
  Backend backend;
  at::Tensor x, taps, bias;
};

Arguments prepare(const DepthwiseConvSaved& given, const DepthwiseConvOptions& options,
                  Backend requested) {
  check_shapes(given);
  check_options(options);
  const auto& [x, weight, bias] = given;
  const Backend backend = choose(requested, {x, weight, bias});
  const at::Tensor taps = channels_last(in_accumulation_dtype("weight", weight, x));
  return {backend, with_contiguous_rows(x), taps,
          bias.defined() ? in_accumulation_dtype("bias", bias, x).contiguous() : bias};
}

}  // namespace

const OpSupport& depthwise_conv3x3_support() {
  static const OpSupport support{
      kOp, {at::kFloat, at::kBFloat16}, cuda::depthwise_conv3x3_dtypes()};
  return support;
}

at::Tensor depthwise_conv3x3(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                             const DepthwiseConvOptions& options, Backend requested) {
  const Arguments a = prepare({x, weight, bias}, options, requested);
  if (needs_gradient({x, weight, bias}))
    return ConvFunction::apply(a.x, a.taps, a.bias.defined() ? std::optional(a.bias) : std::nullopt,
                               options, static_cast<std::int64_t>(a.backend));
  return run(a.backend, a.x, a.taps, a.bias, options);
}

PackedDepthwiseConv::PackedDepthwiseConv(const at::Tensor& weight, const at::Tensor& bias,
                                         at::ScalarType dtype)
    : dtype_(dtype) {
  const at::NoGradGuard no_grad;
  check_shape(kOp, "weight", weight, {-1, 1, 3, 3});
  if (bias.defined()) check_shape(kOp, "bias", bias, {weight.size(0)});
  weight_ = weight.detach().to(dtype);
  taps_ = channels_last(weight_.to(accumulation_dtype(dtype)));
  if (bias.defined()) bias_ = bias.detach().to(accumulation_dtype(dtype)).contiguous();
}

at::Tensor depthwise_conv3x3(const at::Tensor& x, const PackedDepthwiseConv& convolution,
                             const DepthwiseConvOptions& options, Backend requested) {
  check_packed_defined(kOp, convolution.defined());
  check_packed_use(kOp, convolution.dtype(), x, {x});
  check_shapes({x, convolution.weight(), convolution.bias()});
  check_options(options);
  const Backend backend = choose(requested, {x, convolution.taps(), convolution.bias()});
  return run(backend, with_contiguous_rows(x), convolution.taps(), convolution.bias(), options);
}

void depthwise_conv3x3_rows(const DepthwiseConvRows& rows, const PackedDepthwiseConv& convolution,
                            const DepthwiseConvOptions& options, const at::Tensor& out) {
  const at::Tensor& x = rows.x;
  check_packed_defined(kOp, convolution.defined());
  check_packed_use(kOp, convolution.dtype(), x, {x});
  check_options(options);
  const std::int64_t channels = convolution.weight().size(0);
  check_shape(kOp, "out", out, {-1, -1, channels});
  check_shape(kOp, "x", x, {out.size(0) + 2, out.size(1), channels});
  check_same_dtype(kOp, "out", out, x);
  check_output(kOp, out, {x});
  check_apart(kOp, out, {x});
  TTT_CHECK(options.stride == 1 && rows.first >= 0 && rows.height > 0, usage,
            fmt::format("rows from {} on of grids of {} rows with stride {}", rows.first,
                        rows.height, options.stride),
            std::string(kOp), "pass rows of a grid, and stride 1");
  choose(Backend::cpu, {x, convolution.taps(), out});
  cpu::depthwise_conv3x3_rows({with_contiguous_rows(x), rows.first, rows.height},
                              convolution.taps(), convolution.bias(), options, out);
}

DepthwiseConvParameterGradients depthwise_conv3x3_backward(const DepthwiseConvSaved& saved,
                                                           const DepthwiseConvOptions& options,
                                                           const at::Tensor& dout,
                                                           Backend requested) {
  const Arguments a = prepare(saved, options, requested);
  check_shape(kOp, "dout", dout,
              {saved.x.size(0), depthwise_conv_size(saved.x.size(1), options.stride),
               depthwise_conv_size(saved.x.size(2), options.stride), saved.x.size(3)});
  check_same_dtype(kOp, "dout", dout, saved.x);
  choose(requested, {saved.x, dout});  // both on one device
  const DepthwiseConvGradients result =
      run_backward(a.backend, {a.x, a.taps, a.bias}, options, with_contiguous_rows(dout));
  const at::Tensor dweight = result.dtaps.permute({2, 0, 1}).unsqueeze(1);  // [C, 1, 3, 3]
  return {result.dx, parameter_gradient(dweight, saved.weight),
          parameter_gradient(result.dbias, saved.bias.defined() ? saved.bias : result.dbias)};
}

}  // namespace ttt::ops
