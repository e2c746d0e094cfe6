// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "training/named_tensors.h"

#include <memory>
#include <string_view>

namespace ttt::training {

enum class OptimizerKind {
  adamw,
  muon,  ///< matrices by Muon, everything else by AdamW
};

/// Defaults are the official ones.
struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::adamw;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.05;
  double muon_momentum = 0.95;
};

/// Updates parameters in place from their gradients. Parameters without a gradient are left alone.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual void step(double learning_rate) = 0;
  /// The optimizer's own tensors. Copying into them restores a saved state.
  virtual NamedTensors state() const = 0;
};

/// Official rule (LeapLabTHU/ViTTT: vittt/optimizer.py): tensors with one dimension and names that
/// end in ".bias" are not decayed; the inner weights w1, w2, w3 and all kernels are.
bool takes_weight_decay(std::string_view name, const at::Tensor& parameter);
/// Weights of linear layers inside the network: two dimensions, not the classifier.
bool takes_muon(std::string_view name, const at::Tensor& parameter);

std::unique_ptr<Optimizer> make_optimizer(const NamedTensors& parameters,
                                          const OptimizerOptions& options);

/// Nearest semi-orthogonal matrix of [m,n], approximately: five quintic Newton-Schulz steps
/// (Jordan et al., "Muon", 2024). Singular values end in about [0.7, 1.2].
at::Tensor orthogonalize(const at::Tensor& matrix);

}  // namespace ttt::training
