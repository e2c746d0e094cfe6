// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "layers/process_sum.h"

#include <torch/torch.h>

namespace ttt::layers {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct SumHolder : torch::CustomClassHolder {
  explicit SumHolder(SumOverProcesses f) : f(std::move(f)) {}
  SumOverProcesses f;
};

struct SumFunction : torch::autograd::Function<SumFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const c10::IValue& sum) {
    context->saved_data["sum"] = sum;
    return summed(x, sum);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    return {summed(gradients[0], context->saved_data["sum"]), {}};
  }

  static at::Tensor summed(const at::Tensor& x, const c10::IValue& sum) {
    at::Tensor result = x.detach().clone(at::MemoryFormat::Contiguous);
    c10::static_intrusive_pointer_cast<SumHolder>(sum.toCapsule())->f(result);
    return result;
  }
};

}  // namespace

at::Tensor sum_over_processes(const at::Tensor& x, const SumOverProcesses& sum) {
  return SumFunction::apply(x, c10::IValue::make_capsule(c10::make_intrusive<SumHolder>(sum)));
}

}  // namespace ttt::layers
