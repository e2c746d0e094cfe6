// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

namespace ttt::vision {

struct ClassificationOutput {
  at::Tensor logits;    ///< [B, classes]
  at::Tensor features;  ///< [B, C], the input of the head
};

}  // namespace ttt::vision
