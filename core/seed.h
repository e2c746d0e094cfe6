// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace ttt {

/// Seed of one item of a run, derived from the run's seed and the item's name alone, so that an
/// item can be reproduced without the others. Stable across versions (FNV-1a and a 64-bit
/// finaliser).
std::uint64_t derive_seed(std::uint64_t run_seed, std::string_view item);

/// The seed a run uses: the one asked for, or for a negative request a random one, which is logged.
std::uint64_t choose_seed(std::int64_t request);

}  // namespace ttt
