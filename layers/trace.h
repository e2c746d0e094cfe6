// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <string>

namespace ttt::layers {

/// Receives named intermediate tensors of a forward pass; names follow the checkpoint's module
/// paths ("blocks.0.attn.qkv"). A value may be overwritten after the call; clone it to keep it.
using Trace = std::function<void(const std::string& name, const at::Tensor& value)>;

}  // namespace ttt::layers
