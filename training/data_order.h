// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace ttt::training {

/// The order in which one epoch visits the samples 0..size-1: a permutation that depends on the
/// seed and the epoch alone, so that an interrupted run continues with the samples it would have
/// seen.
std::vector<std::int64_t> epoch_order(std::int64_t size, std::uint64_t seed, std::int64_t epoch);

/// Seed of all random decisions about one sample in one epoch.
std::uint64_t sample_seed(std::uint64_t seed, std::int64_t epoch, std::int64_t index);

/// Seed of what is decided once for a batch (mixing) or step (dropped branches). `purpose` keeps
/// them apart.
std::uint64_t step_seed(std::uint64_t seed, const char* purpose, std::int64_t step);

}  // namespace ttt::training
