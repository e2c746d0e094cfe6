// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "training/gradients.h"

#include <torch/torch.h>

#include <cmath>

namespace ttt::training {
namespace {

std::vector<at::Tensor> gradients_of(const NamedTensors& parameters) {
  std::vector<at::Tensor> gradients;
  for (const NamedTensor& p : parameters)
    if (p.tensor.grad().defined()) gradients.push_back(p.tensor.grad());
  return gradients;
}

}  // namespace

double gradient_norm(const NamedTensors& parameters) {
  const std::vector<at::Tensor> gradients = gradients_of(parameters);
  if (gradients.empty()) return 0.0;
  const torch::NoGradGuard no_grad;
  return at::stack(at::_foreach_norm(gradients)).norm().item<double>();
}

void clip_gradients(const NamedTensors& parameters, double norm, double max_norm) {
  const double factor = max_norm / (norm + 1e-6);
  const std::vector<at::Tensor> gradients = gradients_of(parameters);
  if (factor >= 1.0 || gradients.empty()) return;
  const torch::NoGradGuard no_grad;
  at::_foreach_mul_(gradients, factor);
}

std::vector<std::pair<std::string, double>> gradient_norms_by_module(
    const NamedTensors& parameters) {
  std::vector<std::pair<std::string, double>> squares;
  for (const NamedTensor& p : parameters) {
    if (!p.tensor.grad().defined()) continue;
    const std::size_t dot = p.name.rfind('.');
    const std::string module = dot == std::string::npos ? p.name : p.name.substr(0, dot);
    const double norm = p.tensor.grad().norm().item<double>();
    if (squares.empty() || squares.back().first != module) squares.emplace_back(module, 0.0);
    squares.back().second += norm * norm;
  }
  for (auto& [module, square] : squares) square = std::sqrt(square);
  return squares;
}

void clear_gradients(const NamedTensors& parameters) {
  for (const NamedTensor& p : parameters) at::Tensor(p.tensor).mutable_grad().reset();
}

}  // namespace ttt::training
