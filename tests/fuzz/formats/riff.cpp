// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <array>

namespace ttt::fuzz {
namespace {

constexpr std::size_t kHeader = 12;

Parts split_riff(std::string_view bytes, Random&) {
  Parts parts;
  for (std::size_t at = kHeader; at + 8 <= bytes.size();) {
    const std::uint64_t length = load_number(bytes, at + 4, 4, false);
    const std::string body(bytes.substr(at + 8, length));
    parts.push_back({std::string(bytes.substr(at, 4)), body});
    at += 8 + (body.size() + 1) / 2 * 2;
  }
  return parts;
}

std::string join_riff(const Parts& parts, Random& random) {
  std::string chunks = "WEBP";
  for (const Part& part : parts) {
    std::string name = part.head;
    name.resize(4, ' ');
    chunks += name + number_bytes(rarely_wrong(part.body.size(), random), 4, false) + part.body;
    if (part.body.size() % 2 != 0) chunks += '\0';
  }
  return "RIFF" + number_bytes(rarely_wrong(chunks.size(), random), 4, false) + chunks;
}

Part make_chunk(Random& random) {
  static constexpr std::array<std::string_view, 9> kNames{"VP8 ", "VP8L", "VP8X", "ALPH", "ANIM",
                                                          "ANMF", "EXIF", "ICCP", "XMP "};
  Part part{std::string(random.pick(kNames)), {}};
  part.body.resize(part.head == "VP8X" ? 10 : random.mostly_small(60));
  for (char& c : part.body) c = random.byte();
  // A canvas of a sane size.
  if (part.head == "VP8X" && random.chance(80))
    part.body.replace(4, 6, std::string{random.byte(), 0, 0, random.byte(), 0, 0});
  return part;
}

}  // namespace

const Format& riff_format() {
  static const Format format{split_riff, join_riff, make_chunk, nullptr, {}};
  return format;
}

}  // namespace ttt::fuzz
