// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "layers/recompute.h"

#include <ATen/autocast_mode.h>
#include <torch/torch.h>

namespace ttt::layers {
namespace {

using Segment = std::function<at::Tensor(const at::Tensor&)>;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// What the backward pass needs beside x.
struct SegmentHolder : torch::CustomClassHolder {
  SegmentHolder(Segment f, c10::DeviceType device)
      : f(std::move(f)),
        device(device),
        autocast(at::autocast::is_autocast_enabled(device)),
        dtype(at::autocast::get_autocast_dtype(device)) {}

  Segment f;
  c10::DeviceType device;
  bool autocast;
  at::ScalarType dtype;
};

/// Sets the autocast state of a segment for as long as it lives.
class SegmentAutocast {
 public:
  explicit SegmentAutocast(const SegmentHolder& segment)
      : device_(segment.device),
        autocast_(at::autocast::is_autocast_enabled(device_)),
        dtype_(at::autocast::get_autocast_dtype(device_)) {
    at::autocast::increment_nesting();
    set(segment.autocast, segment.dtype);
  }
  ~SegmentAutocast() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    set(autocast_, dtype_);
  }
  SegmentAutocast(const SegmentAutocast&) = delete;
  SegmentAutocast& operator=(const SegmentAutocast&) = delete;

 private:
  void set(bool enabled, at::ScalarType dtype) const {
    at::autocast::set_autocast_enabled(device_, enabled);
    at::autocast::set_autocast_dtype(device_, dtype);
  }

  c10::DeviceType device_;
  bool autocast_;
  at::ScalarType dtype_;
};

struct RecomputeFunction : torch::autograd::Function<RecomputeFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const c10::IValue& f) {
    context->save_for_backward({x});
    context->saved_data["segment"] = f;
    return c10::static_intrusive_pointer_cast<SegmentHolder>(f.toCapsule())->f(x);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto segment = c10::static_intrusive_pointer_cast<SegmentHolder>(
        context->saved_data["segment"].toCapsule());
    const at::Tensor x = context->get_saved_variables()[0].detach().requires_grad_();
    at::Tensor y;
    {
      const at::AutoGradMode with_gradients(true);
      const SegmentAutocast autocast(*segment);
      y = segment->f(x);
    }
    torch::autograd::backward({y}, {gradients[0]});
    return {x.grad(), {}};
  }
};

}  // namespace

at::Tensor recompute(Segment f, const at::Tensor& x) {
  if (!at::GradMode::is_enabled() || !x.requires_grad()) return f(x);
  const auto holder = c10::make_intrusive<SegmentHolder>(std::move(f), x.device().type());
  return RecomputeFunction::apply(x, c10::IValue::make_capsule(holder));
}

}  // namespace ttt::layers
