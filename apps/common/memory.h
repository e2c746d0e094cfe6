// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

namespace ttt::cli {

/// Bytes that can still be taken on this machine, or in this container, without swapping; nothing
/// when unknown.
std::optional<std::int64_t> memory_available();

/// Gives free memory back to the system and forgets the peak so far. False where the system can't.
bool restart_peak_memory();
/// The most bytes that the process held since then, or since its start; nothing when unknown.
std::optional<std::int64_t> peak_memory();

}  // namespace ttt::cli
