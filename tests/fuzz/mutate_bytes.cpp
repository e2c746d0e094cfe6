// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <array>

namespace ttt::fuzz {
namespace {

using Difference = std::string::difference_type;

/// A place where something can be put; half of the time near the beginning, where headers are.
std::size_t place(const std::string& bytes, Random& random) {
  const std::size_t reach =
      random.chance(50) ? std::min<std::size_t>(bytes.size(), 64) : bytes.size();
  return random.below(reach + 1);
}

void overwrite(std::string& bytes, std::size_t at, std::string_view with) {
  for (std::size_t i = 0; i < with.size() && at + i < bytes.size(); ++i) bytes[at + i] = with[i];
}

void change_number(std::string& bytes, Random& random) {
  const int count = 1 << random.below(4);
  std::size_t at = place(bytes, random);
  if (random.chance(50)) at = at / 2 * 2;
  const bool big_endian = random.chance(50);
  std::uint64_t value = edge_number(random);
  if (random.chance(30)) value = bytes.size() - at + random.below(9) - 4;
  if (random.chance(40))
    value = load_number(bytes, at, count, big_endian) + random.mostly_small(40) -
            random.mostly_small(40);
  overwrite(bytes, at, number_bytes(value, count, big_endian));
}

/// Replaces a run of decimal digits.
void change_digits(std::string& bytes, Random& random) {
  static constexpr std::array<std::string_view, 16> kNumbers{"0",
                                                             "-1",
                                                             "1",
                                                             "2",
                                                             "255",
                                                             "65536",
                                                             "2147483648",
                                                             "4294967296",
                                                             "4294967520",
                                                             "9223372036854775807",
                                                             "9223372036854775808",
                                                             "18446744073709551615",
                                                             "18446744073709551616",
                                                             "1e400",
                                                             "-0.5",
                                                             "1e30"};
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto begin = std::find_if(
      bytes.begin() + static_cast<Difference>(random.below(bytes.size() + 1)), bytes.end(), digit);
  const auto end = std::find_if_not(begin, bytes.end(), digit);
  if (begin != end) bytes.replace(begin, end, random.pick(kNumbers));
}

/// Takes a stretch from somewhere: position and size.
std::pair<std::size_t, std::size_t> stretch(const std::string& bytes, Random& random) {
  const std::size_t at = place(bytes, random);
  return {at, random.mostly_small(bytes.size() - at + 1)};
}

void repeat(std::string& bytes, Random& random) {
  const auto [at, size] = stretch(bytes, random);
  const std::string copied = bytes.substr(at, size);
  const std::size_t times = random.chance(90) ? 1 : 1 + random.mostly_small(2000);
  std::string all;
  for (std::size_t i = 0; i < times && all.size() < kMaxMutant; ++i) all += copied;
  bytes.insert(random.chance(70) ? at : place(bytes, random), all);
}

void mutate_once(std::string& bytes, Random& random, const Tokens& tokens) {
  const std::size_t at = place(bytes, random);
  switch (random.below(12)) {
    case 0:
      if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ 1 << random.below(8));
      return;
    case 1:
      if (at < bytes.size()) bytes[at] = random.byte();
      return;
    case 2:
    case 3:
    case 4:
      return change_number(bytes, random);
    case 5:
      return bytes.resize(random.chance(50) ? at
                                            : bytes.size() - random.mostly_small(bytes.size()));
    case 6: {
      const auto [from, size] = stretch(bytes, random);
      bytes.erase(from, size);
      return;
    }
    case 7:
      return repeat(bytes, random);
    case 8: {
      std::string block(1 + random.mostly_small(64), random.chance(50) ? '\0' : random.byte());
      if (random.chance(50))
        for (char& c : block) c = random.byte();
      bytes.insert(at, block);
      return;
    }
    case 9: {
      const auto [from, size] = stretch(bytes, random);
      overwrite(bytes, at, bytes.substr(from, size));
      return;
    }
    case 10:
      return change_digits(bytes, random);
    default:
      if (tokens.empty()) return change_number(bytes, random);
      if (random.chance(50))
        bytes.insert(at, random.pick(tokens));
      else
        overwrite(bytes, at, random.pick(tokens));
  }
}

}  // namespace

void mutate_bytes(std::string& bytes, Random& random, const Tokens& tokens) {
  for (std::size_t i = 1 + random.mostly_small(8); i > 0; --i) mutate_once(bytes, random, tokens);
  if (bytes.size() > kMaxMutant) bytes.resize(kMaxMutant);
}

std::uint64_t load_number(std::string_view bytes, std::size_t at, int count, bool big_endian) {
  std::uint64_t value = 0;
  for (int i = 0; i < count; ++i) {
    const std::size_t from = at + static_cast<std::size_t>(big_endian ? i : count - 1 - i);
    value = value << 8 | (from < bytes.size() ? static_cast<unsigned char>(bytes[from]) : 0U);
  }
  return value;
}

std::string number_bytes(std::uint64_t value, int count, bool big_endian) {
  std::string bytes;
  for (int i = 0; i < count; ++i)
    bytes += static_cast<char>(value >> 8 * (big_endian ? count - 1 - i : i) & 0xFF);
  return bytes;
}

void store_number(std::string& bytes, std::size_t at, std::uint64_t value, int count,
                  bool big_endian) {
  overwrite(bytes, at, number_bytes(value, count, big_endian));
}

std::uint64_t edge_number(Random& random) {
  switch (random.below(3)) {
    case 0:
      return random.below(20);
    case 1:
      return (std::uint64_t{1} << random.below(64)) + random.below(5) - 2;
    default: {
      static constexpr std::array<std::uint64_t, 6> kEdges{
          0x7F, 0x7FFF, 0x7FFFFFFF, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF};
      return random.pick(kEdges);
    }
  }
}

std::uint64_t rarely_wrong(std::uint64_t value, Random& random) {
  if (!random.chance(3)) return value;
  return random.chance(50) ? edge_number(random) : value + random.below(9) - 4;
}

}  // namespace ttt::fuzz
