// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/nvs/model/model_support.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>

namespace ttt::test {

TensorMap read_all(const std::filesystem::path& path) {
  const WeightFile file = WeightFile::open(path);
  TensorMap result;
  for (const TensorInfo& info : file.tensors()) result[info.name] = file.read(info.name);
  return result;
}

double max_difference(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes()) return std::numeric_limits<double>::infinity();
  const double worst = (a.to(at::kDouble) - b.to(at::kDouble)).abs().max().item<double>();
  return std::isnan(worst) ? std::numeric_limits<double>::infinity() : worst;
}

double psnr_between(const at::Tensor& a, const at::Tensor& b) {
  return -10 * std::log10((a.to(at::kDouble) - b.to(at::kDouble)).square().mean().item<double>());
}

std::shared_ptr<nvs::LvsmModel> random_model(const nvs::LvsmConfig& config, std::uint64_t seed) {
  auto model = std::make_shared<nvs::LvsmModel>(config);
  model->initialize(seed);
  const torch::NoGradGuard no_grad;
  const at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  for (const auto& item : model->named_parameters()) {
    at::Tensor value = item.value();
    if (item.key().ends_with(".w0") || item.key().ends_with(".w1") || item.key().ends_with(".w2"))
      continue;
    if (value.dim() == 1)
      value.add_(at::randn(value.sizes(), generator, at::kFloat) * 0.2);
    else
      value.copy_(at::randn(value.sizes(), generator, at::kFloat) * 0.15);
  }
  return model;
}

nvs::PosedViews random_views(std::int64_t count, std::int64_t height, std::int64_t width,
                             std::uint64_t seed) {
  const at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  std::vector<nvs::Camera> cameras;
  for (std::int64_t i = 0; i < count; ++i) {
    const double angle = 0.7 * static_cast<double>(i) + 0.1 * static_cast<double>(seed);
    const nvs::Vector3 position{2.7 * std::cos(angle), 2.7 * std::sin(angle), 0.5};
    cameras.push_back(
        {nvs::look_at(position, {}, {0, 0, 1}),
         nvs::intrinsics_from_field_of_view(50, static_cast<int>(width), static_cast<int>(height)),
         static_cast<int>(width), static_cast<int>(height)});
  }
  return {nvs::camera_tensors(cameras), at::rand({count, 3, height, width}, generator, at::kFloat)};
}

nvs::PosedViews sample_views(const TensorMap& tensors, const std::string& prefix,
                             std::int64_t sample) {
  const at::Tensor images = tensors.at(prefix + ".image").select(0, sample);
  return {{tensors.at(prefix + ".c2w").select(0, sample),
           tensors.at(prefix + ".fxfycxcy").select(0, sample), images.size(2), images.size(3)},
          images};
}

double state_difference(const nvs::FastWeightMap& a, const nvs::FastWeightMap& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (const auto& [name, state] : a) {
    const auto& other = b.at(name);
    worst = std::max({worst, max_difference(state.weights.w0, other.weights.w0),
                      max_difference(state.weights.w1, other.weights.w1),
                      max_difference(state.weights.w2, other.weights.w2)});
  }
  return worst;
}

}  // namespace ttt::test
