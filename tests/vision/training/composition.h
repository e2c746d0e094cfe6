// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "vision/hvit3.h"
#include "vision/vit3.h"

namespace ttt::test {

/// Logits of a model with these parameters, written out in plain tensor operations along the
/// published description, so that autograd differentiates every step of the inner loop itself.
/// Batch norms use batch statistics. images [B,3,H,W].
at::Tensor composed_vit3(const vision::Vit3Config& config, const torch::nn::Module& model,
                         const at::Tensor& images);
at::Tensor composed_hvit3(const vision::HVit3Config& config, const torch::nn::Module& model,
                          const at::Tensor& images);

}  // namespace ttt::test
