// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "training/ema.h"

#include "core/error.h"

#include <torch/torch.h>

#include <cmath>

namespace ttt::training {

MovingAverage::MovingAverage(const torch::nn::Module& model, const torch::nn::Module& average,
                             double decay)
    : decay_(decay) {
  const NamedTensors from = state_dict(model), to = state_dict(average);
  TTT_CHECK(from.size() == to.size(), internal, "the averaged model has another structure", "EMA");
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < from.size(); ++i) {
    at::Tensor(to[i].tensor).copy_(from[i].tensor);
    const bool floating = from[i].tensor.is_floating_point();
    (floating ? source_ : copied_source_).push_back(from[i].tensor);
    (floating ? target_ : copied_target_).push_back(to[i].tensor);
  }
}

void MovingAverage::update() {
  const torch::NoGradGuard no_grad;
  at::_foreach_lerp_(target_, source_, 1.0 - decay_);
  for (std::size_t i = 0; i < copied_source_.size(); ++i)
    copied_target_[i].copy_(copied_source_[i]);
}

double decay_for_batch(double decay, std::int64_t global_batch) {
  return std::pow(decay, static_cast<double>(global_batch) / 4096.0);
}

}  // namespace ttt::training
