// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace ttt::fuzz {

/// SplitMix64 (Steele, Lea, Flood 2014). The same numbers on every machine, unlike the
/// distributions of <random>: a seed and an index name an input.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t index) : state_(seed * kOdd + index) {
    // Neighbouring indices begin at unrelated states.
    state_ = next();
  }

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
  }
  /// In [0, bound); 0 for a bound of 0.
  std::size_t below(std::uint64_t bound) {
    return bound == 0 ? 0 : static_cast<std::size_t>(next() % bound);
  }
  /// In [0, bound), small numbers far more often than large ones.
  std::size_t mostly_small(std::uint64_t bound) { return below(1 + below(1 + below(bound))); }
  bool chance(unsigned percent) { return below(100) < percent; }
  char byte() { return static_cast<char>(next() & 0xFF); }
  template <typename List>
  const auto& pick(const List& list) {
    return list[below(list.size())];
  }

 private:
  static constexpr std::uint64_t kOdd = 0xD1342543DE82EF95;
  std::uint64_t state_;
};

}  // namespace ttt::fuzz
