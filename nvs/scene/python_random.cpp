// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/scene/python_random.h"

#include "core/error.h"

#include <bit>
#include <cmath>
#include <numeric>
#include <unordered_set>

namespace ttt::nvs {

/// The generator's "initialisation by array" (Matsumoto and Nishimura 2002) with the seed's words.
PythonRandom::PythonRandom(std::uint64_t seed) {
  std::vector<std::uint32_t> key{static_cast<std::uint32_t>(seed)};
  if (seed >> 32 != 0) key.push_back(static_cast<std::uint32_t>(seed >> 32));
  state_[0] = 19650218U;
  const auto mixed = [&](std::size_t i) { return state_[i - 1] ^ (state_[i - 1] >> 30); };
  for (std::size_t i = 1; i < kSize; ++i)
    state_[i] = 1812433253U * mixed(i) + static_cast<std::uint32_t>(i);
  std::size_t i = 1;
  const auto step = [&] {
    if (++i < kSize) return;
    state_[0] = state_[kSize - 1];
    i = 1;
  };
  for (std::size_t k = 0, j = 0; k < kSize; ++k, j = (j + 1) % key.size(), step())
    state_[i] = (state_[i] ^ (mixed(i) * 1664525U)) + key[j] + static_cast<std::uint32_t>(j);
  for (std::size_t k = 0; k < kSize - 1; ++k, step())
    state_[i] = (state_[i] ^ (mixed(i) * 1566083941U)) - static_cast<std::uint32_t>(i);
  state_[0] = 0x80000000U;
}

std::uint32_t PythonRandom::next() {
  if (at_ == kSize) {
    for (std::size_t i = 0; i < kSize; ++i) {
      const std::uint32_t y = (state_[i] & 0x80000000U) | (state_[(i + 1) % kSize] & 0x7FFFFFFFU);
      state_[i] = state_[(i + 397) % kSize] ^ (y >> 1) ^ ((y & 1) != 0 ? 0x9908B0DFU : 0U);
    }
    at_ = 0;
  }
  std::uint32_t y = state_[at_++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9D2C5680U;
  y ^= (y << 15) & 0xEFC60000U;
  return y ^ (y >> 18);
}

std::uint32_t PythonRandom::below(std::uint32_t n) {
  const int bits = static_cast<int>(std::bit_width(n));
  std::uint32_t value = next() >> (32 - bits);
  while (value >= n) value = next() >> (32 - bits);
  return value;
}

std::vector<int> PythonRandom::sample(int count, int k) {
  TTT_CHECK(k >= 0 && k <= count, internal, "a sample larger than what it is drawn from");
  std::vector<int> out;
  // Python keeps a list of what is left, or for small samples a set of what is taken; both are
  // ways to the same kind of result, but with other numbers.
  double set_size = 21;
  if (k > 5) set_size += std::pow(4.0, std::ceil(std::log(k * 3.0) / std::log(4.0)));
  if (count <= set_size) {
    std::vector<int> pool(static_cast<std::size_t>(count));
    std::iota(pool.begin(), pool.end(), 0);
    for (int i = 0; i < k; ++i) {
      const std::uint32_t j = below(static_cast<std::uint32_t>(count - i));
      out.push_back(pool[j]);
      pool[j] = pool[static_cast<std::size_t>(count - i - 1)];
    }
    return out;
  }
  std::unordered_set<int> taken;
  while (static_cast<int>(out.size()) < k) {
    const auto j = static_cast<int>(below(static_cast<std::uint32_t>(count)));
    if (taken.insert(j).second) out.push_back(j);
  }
  return out;
}

}  // namespace ttt::nvs
