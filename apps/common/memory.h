// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace ttt::cli {

/// Bytes that can still be taken on this machine, or in this container, without swapping; nothing
/// when unknown.
std::optional<std::int64_t> memory_available();

}  // namespace ttt::cli
