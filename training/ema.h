// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "training/named_tensors.h"

namespace ttt::training {

/// Exponential moving average of a whole state dict, running statistics of batch norms included:
/// average = decay * average + (1 - decay) * model. Integer tensors are copied.
class MovingAverage {
 public:
  /// Both modules must have the same structure. The average starts as a copy of the model.
  MovingAverage(const torch::nn::Module& model, const torch::nn::Module& average, double decay);
  void update();

 private:
  std::vector<at::Tensor> source_, target_;                // floating point
  std::vector<at::Tensor> copied_source_, copied_target_;  // all others
  double decay_;
};

/// The official decay for a batch size: 0.9996^(global batch / 4096), for 0.9996.
double decay_for_batch(double decay, std::int64_t global_batch);

}  // namespace ttt::training
