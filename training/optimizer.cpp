// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "training/optimizer.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>

namespace ttt::training {
namespace {

/// Parameters that are updated by one rule, with the state that the rule keeps.
class AdamWGroup {
 public:
  AdamWGroup(NamedTensors parameters, double weight_decay, const OptimizerOptions& options)
      : parameters_(std::move(parameters)), weight_decay_(weight_decay), options_(options) {
    for (const NamedTensor& p : parameters_) {
      first_.push_back(at::zeros_like(p.tensor));
      second_.push_back(at::zeros_like(p.tensor));
    }
  }

  /// `count` is a float scalar: the number of this step, from 1.
  void step(double learning_rate, const at::Tensor& count) {
    std::vector<at::Tensor> values, gradients, first, second;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const at::Tensor& gradient = parameters_[i].tensor.grad();
      if (!gradient.defined()) continue;
      values.push_back(parameters_[i].tensor);
      gradients.push_back(gradient.contiguous());
      first.push_back(first_[i]);
      second.push_back(second_[i]);
    }
    if (values.empty()) return;
    const std::vector<at::Tensor> counts(values.size(), count);
    at::_fused_adamw_(values, gradients, first, second, {}, counts, learning_rate, options_.beta1,
                      options_.beta2, weight_decay_, options_.epsilon, /*amsgrad=*/false,
                      /*maximize=*/false);
  }

  void append_state(NamedTensors& state) const {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      state.push_back({"adamw.exp_avg/" + parameters_[i].name, first_[i]});
      state.push_back({"adamw.exp_avg_sq/" + parameters_[i].name, second_[i]});
    }
  }

 private:
  NamedTensors parameters_;
  std::vector<at::Tensor> first_, second_;
  double weight_decay_;
  OptimizerOptions options_;
};

/// Momentum, orthogonalised. The factor 0.2 sqrt(max(m, n)) gives the update the size that AdamW's
/// has, so that both rules share one learning rate (Liu et al., "Muon is scalable for LLM
/// training", 2025).
class MuonGroup {
 public:
  MuonGroup(NamedTensors parameters, const OptimizerOptions& options)
      : parameters_(std::move(parameters)), options_(options) {
    for (const NamedTensor& p : parameters_) momentum_.push_back(at::zeros_like(p.tensor));
  }

  void step(double learning_rate) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      at::Tensor value = parameters_[i].tensor;
      const at::Tensor& gradient = value.grad();
      if (!gradient.defined()) continue;
      momentum_[i].mul_(options_.muon_momentum).add_(gradient);
      const at::Tensor update = orthogonalize(gradient.add(momentum_[i], options_.muon_momentum));
      const auto longest = static_cast<double>(std::max(value.size(0), value.size(1)));
      value.mul_(1.0 - learning_rate * options_.weight_decay);
      value.add_(update, -learning_rate * 0.2 * std::sqrt(longest));
    }
  }

  void append_state(NamedTensors& state) const {
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      state.push_back({"muon.momentum/" + parameters_[i].name, momentum_[i]});
  }

 private:
  NamedTensors parameters_;
  std::vector<at::Tensor> momentum_;
  OptimizerOptions options_;
};

class GroupedOptimizer : public Optimizer {
 public:
  GroupedOptimizer(const NamedTensors& parameters, const OptimizerOptions& options)
      : count_(at::zeros({}, at::kFloat)),
        decayed_(select(parameters, options, Rule::decayed), options.weight_decay, options),
        plain_(select(parameters, options, Rule::plain), 0.0, options),
        matrices_(select(parameters, options, Rule::muon), options) {
    if (!parameters.empty()) count_ = count_.to(parameters.front().tensor.device());
  }

  void step(double learning_rate) override {
    const torch::NoGradGuard no_grad;
    count_.add_(1);
    decayed_.step(learning_rate, count_);
    plain_.step(learning_rate, count_);
    matrices_.step(learning_rate);
  }

  NamedTensors state() const override {
    NamedTensors state{{"optimizer.steps", count_}};
    decayed_.append_state(state);
    plain_.append_state(state);
    matrices_.append_state(state);
    return state;
  }

 private:
  enum class Rule { decayed, plain, muon };

  static Rule rule_of(const NamedTensor& parameter, const OptimizerOptions& options) {
    if (options.kind == OptimizerKind::muon && takes_muon(parameter.name, parameter.tensor))
      return Rule::muon;
    return takes_weight_decay(parameter.name, parameter.tensor) ? Rule::decayed : Rule::plain;
  }

  static NamedTensors select(const NamedTensors& parameters, const OptimizerOptions& options,
                             Rule rule) {
    NamedTensors result;
    for (const NamedTensor& parameter : parameters)
      if (rule_of(parameter, options) == rule) result.push_back(parameter);
    return result;
  }

  at::Tensor count_;
  AdamWGroup decayed_, plain_;
  MuonGroup matrices_;
};

}  // namespace

bool takes_weight_decay(std::string_view name, const at::Tensor& parameter) {
  return parameter.dim() > 1 && !name.ends_with(".bias");
}

bool takes_muon(std::string_view name, const at::Tensor& parameter) {
  return parameter.dim() == 2 && name != "head.weight";
}

std::unique_ptr<Optimizer> make_optimizer(const NamedTensors& parameters,
                                          const OptimizerOptions& options) {
  return std::make_unique<GroupedOptimizer>(parameters, options);
}

at::Tensor orthogonalize(const at::Tensor& matrix) {
  constexpr double kA = 3.4445, kB = -4.7750, kC = 2.0315;
  constexpr int kSteps = 5;
  const bool tall = matrix.size(0) > matrix.size(1);
  at::Tensor x = tall ? matrix.t() : matrix;
  x = x / (x.norm() + 1e-7);
  for (int i = 0; i < kSteps; ++i) {
    const at::Tensor gram = x.mm(x.t());
    x = kA * x + (kB * gram + kC * gram.mm(gram)).mm(x);
  }
  return tall ? x.t() : x;
}

}  // namespace ttt::training
