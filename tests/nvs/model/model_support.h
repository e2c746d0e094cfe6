// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvs/model/renderer.h"
#include "tests/support/lvsm.h"

#include <map>
#include <string>

namespace ttt::test {

using TensorMap = std::map<std::string, at::Tensor>;
TensorMap read_all(const std::filesystem::path& path);

/// Largest absolute difference. Shapes must be equal.
double max_difference(const at::Tensor& a, const at::Tensor& b);
/// -10 log10 of the mean squared difference.
double psnr_between(const at::Tensor& a, const at::Tensor& b);

/// With random weights away from the initialisation, so that every part matters.
std::shared_ptr<nvs::LvsmModel> random_model(const nvs::LvsmConfig& config, std::uint64_t seed = 1);
/// Views around the origin with random pictures.
nvs::PosedViews random_views(std::int64_t count, std::int64_t height, std::int64_t width,
                             std::uint64_t seed = 1);

/// One sample of views [B, V, ...].
nvs::PosedViews sample_views(const TensorMap& tensors, const std::string& prefix,
                             std::int64_t sample);

/// The fast weights of a state, in one list.
double state_difference(const nvs::FastWeightMap& a, const nvs::FastWeightMap& b);

}  // namespace ttt::test
