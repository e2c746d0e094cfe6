// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/seed.h"

#include "core/log.h"

#include <random>

namespace ttt {

std::uint64_t derive_seed(std::uint64_t run_seed, std::string_view item) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : item) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001B3ULL;
  hash ^= run_seed + 0x9E3779B97F4A7C15ULL + (hash << 6) + (hash >> 2);
  hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9ULL;
  hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBULL;
  return hash ^ (hash >> 31);
}

std::uint64_t choose_seed(std::int64_t request) {
  if (request >= 0) return static_cast<std::uint64_t>(request);
  std::random_device source;
  // 53 bits survive every JSON reader.
  const std::uint64_t seed = ((std::uint64_t{source()} << 32) | source()) >> 11;
  log_info("seed {}", seed);
  return seed;
}

}  // namespace ttt
