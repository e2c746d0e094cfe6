// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ttt {

/// From now on all large CPU tensors of LibTorch share one arena (core/arena.h), whose pages stay
/// with the program: passes after the first ask the system for none. Small tensors, and those that
/// no longer fit, come from LibTorch's own allocator as before. For programs; a library leaves the
/// choice to whom it is a part of. Later calls do nothing.
void use_tensor_pool();

/// Returns what no tensor uses at the moment to the system. Without a pool nothing happens.
void trim_tensor_pool();

}  // namespace ttt
