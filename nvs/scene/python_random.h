// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace ttt::nvs {

/// Python's random.Random: the Mersenne Twister MT19937 with its way to seed by an integer and to
/// draw samples, so that the official selections ("seed 95") can be repeated, and anyone can check
/// ours with one line of Python.
class PythonRandom {
 public:
  explicit PythonRandom(std::uint64_t seed);

  /// random.sample(range(count), k): k different numbers below `count`, in random order.
  /// k <= count.
  std::vector<int> sample(int count, int k);

 private:
  std::uint32_t next();
  /// Uniform below n, n > 0.
  std::uint32_t below(std::uint32_t n);

  static constexpr std::size_t kSize = 624;
  std::array<std::uint32_t, kSize> state_{};
  std::size_t at_ = kSize;
};

}  // namespace ttt::nvs
