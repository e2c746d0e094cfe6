// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/weights/safetensors_writer.h"

#include <filesystem>
#include <vector>

namespace ttt::test {

/// Reproducible weights of VGG16's trunk under the names of the LPIPS package: fill() of the name,
/// scaled to keep the features' size; 59 MB.
std::vector<NamedTensor> lpips_trunk();
/// The layers on top: absolute values of fill().
std::vector<NamedTensor> lpips_top();
/// The trunk under torchvision's names, with a (small) classifier.
std::vector<NamedTensor> as_torchvision(const std::vector<NamedTensor>& trunk);

/// One file with both.
void write_lpips_weights(const std::filesystem::path& path);

}  // namespace ttt::test
