// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear/feed_forward.h"

#include "kernels/linear/arguments.h"
#include "kernels/linear/backends.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace ttt::ops {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;
using Optional = std::optional<at::Tensor>;

// The arguments that gradients reach. Those that may be missing come last: LibTorch doesn't count
// the missing ones where it says which gradients are needed.
enum Argument : std::size_t { kX, kWeight1, kWeight2, kBias1, kBias2, kResidual, kArguments };

Backend prepare(const at::Tensor& x, const FeedForwardMaps& maps, const at::Tensor& residual,
                Backend requested) {
  prepare_linear(x, maps.first_weight, maps.first_bias, {}, requested);
  check_parameters(maps.second_weight, maps.second_bias);
  check_weight_dtype(maps.second_weight, x);
  TTT_CHECK(maps.second_weight.size(1) == maps.first_weight.size(0), usage,
            fmt::format("the second weight is {}, but [..., {}] is needed",
                        shape_text(maps.second_weight), maps.first_weight.size(0)),
            std::string(kLinear), "pass a second map as wide as the result of the first one");
  check_residual(x, maps.second_weight.size(0), residual);
  return resolve(
      linear_support(), requested,
      {x, maps.first_weight, maps.first_bias, maps.second_weight, maps.second_bias, residual});
}

/// The dtype of the gradient that an argument takes; -1: none.
std::int64_t gradient_dtype(const Optional& argument) {
  return argument && argument->requires_grad() ? static_cast<std::int64_t>(argument->scalar_type())
                                               : std::int64_t{-1};
}

struct FeedForwardFunction : Function<FeedForwardFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& weight1, const at::Tensor& weight2,
                            const Optional& bias1, const Optional& bias2, const Optional& residual,
                            std::int64_t activation) {
    const at::Tensor rows = as_rows(x), added = residual.value_or(at::Tensor());
    const at::Tensor before = at::empty({rows.size(0), weight1.size(0)}, x.options());
    const at::Tensor out =
        at::empty({rows.size(0), weight2.size(0)},
                  x.options().dtype(result_dtype(x, {LinearActivation::none, added})));
    cpu::feed_forward(
        rows,
        {weight1, prepared_bias(bias1.value_or(at::Tensor()), x), weight2,
         prepared_bias(bias2.value_or(at::Tensor()), x), static_cast<LinearActivation>(activation)},
        {out, added.defined() ? as_rows(added) : added, before});
    context->save_for_backward({x, weight1, weight2, before});
    context->saved_data["activation"] = activation;
    context->saved_data["dtypes"] = std::vector<std::int64_t>{
        gradient_dtype(x),     gradient_dtype(weight1), gradient_dtype(weight2),
        gradient_dtype(bias1), gradient_dtype(bias2),   gradient_dtype(residual)};
    return out.view(result_shape(x, weight2.size(0)));
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    refuse_second_derivative(kLinear);
    const variable_list saved = context->get_saved_variables();
    const std::vector<std::int64_t> dtypes = context->saved_data["dtypes"].toIntVector();
    const auto needed = [&](Argument argument) {
      return dtypes[argument] >= 0 && (argument > kWeight2 || context->needs_input_grad(argument));
    };
    const at::Tensor& x = saved[0];
    const FeedForwardGradients result = cpu::feed_forward_backward(
        {as_rows(x), saved[1], saved[2], saved[3],
         static_cast<LinearActivation>(context->saved_data["activation"].toInt())},
        as_rows(gradients[0]),
        {needed(kX), needed(kWeight1) || needed(kBias1), needed(kWeight2) || needed(kBias2)});
    variable_list results(kArguments + 1);  // none for the activation
    const auto give = [&](Argument argument, const at::Tensor& gradient) {
      if (needed(argument))
        results[argument] = gradient.to(static_cast<at::ScalarType>(dtypes[argument]));
    };
    if (needed(kX)) results[kX] = result.x.view(x.sizes());
    give(kWeight1, result.first_weight);
    give(kWeight2, result.second_weight);
    give(kBias1, result.first_bias);
    give(kBias2, result.second_bias);
    give(kResidual, gradients[0]);
    return results;
  }
};

}  // namespace

at::Tensor feed_forward(const at::Tensor& given, const FeedForwardMaps& maps,
                        const at::Tensor& residual, Backend requested) {
  const at::Tensor x = linear_autocast(given);
  const Backend backend = prepare(x, maps, residual, requested);
  if (backend == Backend::cpu && needs_gradient({x, maps.first_weight, maps.first_bias,
                                                 maps.second_weight, maps.second_bias, residual}))
    return FeedForwardFunction::apply(x, maps.first_weight, maps.second_weight,
                                      as_optional(maps.first_bias), as_optional(maps.second_bias),
                                      as_optional(residual),
                                      static_cast<std::int64_t>(maps.activation));
  const at::Tensor hidden =
      ops::linear(x, maps.first_weight, maps.first_bias, {maps.activation}, requested);
  return ops::linear(hidden, maps.second_weight, maps.second_bias,
                     {LinearActivation::none, residual}, requested);
}

}  // namespace ttt::ops
