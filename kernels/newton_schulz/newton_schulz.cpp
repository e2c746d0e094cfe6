// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/newton_schulz/newton_schulz.h"

#include "kernels/newton_schulz/backends.h"
#include "kernels/support/checks.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace ttt::ops {

const OpSupport& newton_schulz_support();  // for the registry

namespace {

constexpr std::string_view kOp = "newton_schulz";

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

at::Tensor run(Backend backend, const at::Tensor& g, const NewtonSchulzOptions& options) {
  switch (backend) {
    case Backend::reference:
      return reference::newton_schulz(g, options);
    case Backend::cuda:
      return cuda::newton_schulz(g, options);
    default:
      return cpu::newton_schulz(g, options);
  }
}

at::Tensor run_backward(Backend backend, const at::Tensor& g, const NewtonSchulzOptions& options,
                        const at::Tensor& dx) {
  switch (backend) {
    case Backend::reference:
      return reference::newton_schulz_backward(g, options, dx);
    case Backend::cuda:
      return cuda::newton_schulz_backward(g, options, dx);
    default:
      return cpu::newton_schulz_backward(g, options, dx);
  }
}

void check_matrices(const at::Tensor& g) {
  TTT_CHECK(g.defined() && g.dim() >= 2, usage,
            fmt::format("g is {}, but matrices [..., m, n] are needed", shape_text(g)),
            std::string(kOp), "pass tensors of the documented shapes");
}

bool is_tall(const at::Tensor& g) {
  return g.size(-2) > g.size(-1);
}

/// [..., m, n] -> [batch, min(m, n), max(m, n)] in the accumulation dtype.
at::Tensor wide_matrices(const at::Tensor& g) {
  const at::Tensor wide = is_tall(g) ? g.transpose(-2, -1) : g;
  return wide.to(accumulation_dtype(g.scalar_type())).reshape({-1, wide.size(-2), wide.size(-1)});
}

/// The way back.
at::Tensor shaped_like(const at::Tensor& g, const at::Tensor& matrices) {
  if (!is_tall(g)) return matrices.view(g.sizes());
  return matrices.view(g.transpose(-2, -1).sizes()).transpose(-2, -1);
}

/// Options as autograd can keep them: three numbers per iteration.
at::Tensor packed(const std::vector<NewtonSchulzStep>& steps) {
  at::Tensor numbers =
      at::empty({static_cast<std::int64_t>(steps.size()), 3}, at::TensorOptions(at::kDouble));
  double* to = numbers.mutable_data_ptr<double>();
  for (const NewtonSchulzStep& step : steps) {
    *to++ = step.a;
    *to++ = step.b;
    *to++ = step.c;
  }
  return numbers;
}

std::vector<NewtonSchulzStep> unpacked(const at::Tensor& numbers) {
  std::vector<NewtonSchulzStep> steps;
  const double* from = numbers.const_data_ptr<double>();
  for (std::int64_t i = 0; i < numbers.size(0); ++i, from += 3)
    steps.push_back({from[0], from[1], from[2]});
  return steps;
}

struct NewtonSchulzFunction : Function<NewtonSchulzFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& g, const at::Tensor& steps,
                            bool bf16, std::int64_t backend) {
    context->save_for_backward({g, steps});
    context->saved_data["bf16"] = bf16;
    context->saved_data["backend"] = backend;
    return run(static_cast<Backend>(backend), g, {unpacked(steps), bf16});
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    refuse_second_derivative(kOp);
    const variable_list saved = context->get_saved_variables();
    const auto backend = static_cast<Backend>(context->saved_data["backend"].toInt());
    const NewtonSchulzOptions options{unpacked(saved[1]), context->saved_data["bf16"].toBool()};
    return {run_backward(backend, saved[0], options, gradients[0]), {}, {}, {}};
  }
};

}  // namespace

const OpSupport& newton_schulz_support() {
  static const OpSupport support{kOp, {at::kFloat, at::kBFloat16}, cuda::newton_schulz_dtypes()};
  return support;
}

std::vector<NewtonSchulzStep> newton_schulz_repeated(std::int64_t steps) {
  TTT_CHECK(steps >= 0 && steps <= 100, usage,
            fmt::format("{} Newton-Schulz steps; 0 to 100 are allowed", steps), std::string(kOp),
            "use the number of the training, usually 5");
  return std::vector<NewtonSchulzStep>(static_cast<std::size_t>(steps), {3.4445, -4.7750, 2.0315});
}

std::vector<NewtonSchulzStep> newton_schulz_five() {
  return {{4.0848, -6.8946, 2.9270},
          {3.9505, -6.3029, 2.6377},
          {3.7418, -5.5913, 2.3037},
          {2.8769, -3.1427, 1.2046},
          {2.8366, -3.0525, 1.2012}};
}

at::Tensor newton_schulz(const at::Tensor& g, const NewtonSchulzOptions& options,
                         Backend requested) {
  check_matrices(g);
  const Backend backend = resolve(newton_schulz_support(), requested, {g});
  const at::Tensor matrices = wide_matrices(g);
  at::Tensor x;
  if (matrices.numel() == 0) {
    x = matrices;
  } else if (needs_gradient({matrices})) {
    x = NewtonSchulzFunction::apply(matrices, packed(options.steps), options.bf16,
                                    static_cast<std::int64_t>(backend));
  } else {
    x = run(backend, matrices, options);
  }
  return shaped_like(g, x);
}

at::Tensor newton_schulz_backward(const at::Tensor& g, const NewtonSchulzOptions& options,
                                  const at::Tensor& dout, Backend requested) {
  check_matrices(g);
  TTT_CHECK(dout.defined() && dout.sizes() == g.sizes(), usage,
            fmt::format("dout is {}, g {}", shape_text(dout), shape_text(g)), std::string(kOp),
            "pass tensors of the documented shapes");
  const Backend backend = resolve(newton_schulz_support(), requested, {g, dout});
  const at::Tensor matrices = wide_matrices(g), gradient = wide_matrices(dout);
  const at::Tensor dg =
      matrices.numel() == 0 ? matrices : run_backward(backend, matrices, options, gradient);
  return parameter_gradient(shaped_like(g, dg), g);
}

}  // namespace ttt::ops
