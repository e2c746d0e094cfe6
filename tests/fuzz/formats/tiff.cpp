// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <array>

namespace ttt::fuzz {
namespace {

constexpr std::size_t kEntry = 12;
constexpr std::string_view kFile = "file";
constexpr std::string_view kBigEndianEntry = "M";
constexpr std::string_view kLittleEndianEntry = "I";

/// The whole file, and the entries of its first directory. A BigTIFF stays whole.
Parts split_tiff(std::string_view bytes, Random&) {
  Parts parts{{std::string(kFile), std::string(bytes)}};
  const bool big_endian = !bytes.empty() && bytes[0] == 'M';
  if (load_number(bytes, 2, 2, big_endian) != 42) return parts;
  const std::size_t directory = load_number(bytes, 4, 4, big_endian);
  const std::size_t count = load_number(bytes, directory, 2, big_endian);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = directory + 2 + i * kEntry;
    if (at + kEntry > bytes.size()) break;
    parts.push_back({std::string(big_endian ? kBigEndianEntry : kLittleEndianEntry),
                     std::string(bytes.substr(at, kEntry))});
  }
  return parts;
}

/// The files one behind the other, and a new directory at their end; what the entries point to
/// stays where it was.
std::string join_tiff(const Parts& parts, Random& random) {
  std::string bytes;
  std::string entries;
  std::size_t count = 0;
  for (const Part& part : parts) {
    if (part.head == kFile) {
      bytes += part.body;
    } else {
      std::string entry = part.body;
      entry.resize(kEntry);
      entries += entry;
      ++count;
    }
  }
  if (count == 0) return bytes;
  const bool big_endian = !bytes.empty() && bytes[0] == 'M';
  if (bytes.size() % 2 != 0) bytes += '\0';
  store_number(bytes, 4, rarely_wrong(bytes.size(), random), 4, big_endian);
  return bytes + number_bytes(rarely_wrong(count, random), 2, big_endian) + entries +
         number_bytes(0, 4, big_endian);
}

/// An entry in the byte order of most seeds.
Part make_entry(Random& random) {
  // Sizes, kinds, strips, tiles, tables, and what compressions read.
  static constexpr std::array<std::uint16_t, 42> kTags{
      254, 256, 257, 258, 259, 262, 266, 269, 273, 274, 277, 278, 279,   282,
      284, 292, 293, 296, 297, 301, 317, 318, 320, 322, 323, 324, 325,   330,
      332, 338, 339, 347, 529, 530, 531, 532, 512, 513, 514, 519, 34665, 50706};
  static constexpr std::array<std::uint32_t, 12> kValues{1, 2, 3,  4,     5,     6,
                                                         7, 8, 16, 32773, 32946, 0};
  const std::uint64_t count = random.chance(70) ? 1 + random.below(4) : edge_number(random);
  const std::uint64_t value = random.chance(60) ? random.pick(kValues) : edge_number(random);
  return {std::string(kLittleEndianEntry),
          number_bytes(random.pick(kTags), 2, false) +
              number_bytes(random.chance(70) ? 3 + random.below(2) : random.below(20), 2, false) +
              number_bytes(count, 4, false) + number_bytes(value, 4, false)};
}

/// Another tag, type, count or value.
void vary_entry(Part& part, Random& random) {
  if (part.head == kFile || part.body.size() != kEntry) return mutate_bytes(part.body, random, {});
  const bool big_endian = part.head == kBigEndianEntry;
  const Part other = make_entry(random);
  const std::size_t field = random.below(4);
  const std::size_t at = field == 0 ? 0 : field == 1 ? 2 : field == 2 ? 4 : 8;
  const int size = field < 2 ? 2 : 4;
  store_number(part.body, at, load_number(other.body, at, size, false), size, big_endian);
}

}  // namespace

const Format& tiff_format() {
  static const Format format{split_tiff, join_tiff, make_entry, nullptr, {}, vary_entry};
  return format;
}

}  // namespace ttt::fuzz
