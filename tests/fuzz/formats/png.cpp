// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/formats/deflate.h"
#include "tests/fuzz/mutate.h"

#include <array>
#include <zlib.h>

namespace ttt::fuzz {
namespace {

constexpr std::size_t kSignature = 8;
/// The head of a part that holds the unpacked pixel data.
constexpr std::string_view kPixels = "pixels";

Parts split_png(std::string_view bytes, Random& random) {
  Parts parts{{"", std::string(bytes.substr(0, kSignature))}};
  const bool unpack = random.chance(60);
  std::string packed;
  const auto end_pixels = [&] {
    if (const auto pixels = inflate_bytes(packed, Wrapping::zlib); pixels && unpack)
      parts.push_back({std::string(kPixels), *pixels});
    else if (!packed.empty())
      parts.push_back({"IDAT", packed});
    packed.clear();
  };
  for (std::size_t at = kSignature; at + 8 <= bytes.size();) {
    const std::uint64_t length = load_number(bytes, at, 4, true);
    const std::string name(bytes.substr(at + 4, 4));
    const std::string body(bytes.substr(at + 8, length));
    if (name == "IDAT") {
      packed += body;
    } else {
      end_pixels();
      parts.push_back({name, body});
    }
    at += 12 + body.size();
  }
  end_pixels();
  return parts;
}

void put_chunk(std::string& bytes, std::string name, std::string_view body, Random& random) {
  name.resize(4, ' ');
  name += body;
  const auto crc =
      ::crc32(0, reinterpret_cast<const Bytef*>(name.data()), static_cast<uInt>(name.size()));
  bytes += number_bytes(rarely_wrong(body.size(), random), 4, true) + name +
           number_bytes(rarely_wrong(crc, random), 4, true);
}

std::string join_png(const Parts& parts, Random& random) {
  std::string bytes;
  for (const Part& part : parts) {
    if (part.head.empty()) {
      bytes += part.body;
    } else if (part.head == kPixels) {
      static constexpr std::array kLevels{0, 1, 9};
      const std::string packed = deflate_bytes(part.body, Wrapping::zlib, random.pick(kLevels));
      const std::size_t cut = random.chance(30) ? random.below(packed.size()) : packed.size();
      put_chunk(bytes, "IDAT", std::string_view(packed).substr(0, cut), random);
      if (cut < packed.size())
        put_chunk(bytes, "IDAT", std::string_view(packed).substr(cut), random);
    } else {
      put_chunk(bytes, part.head, part.body, random);
    }
  }
  return bytes;
}

Part make_chunk(Random& random) {
  static constexpr std::array<std::string_view, 20> kNames{
      "IHDR", "PLTE", "IDAT", "IEND", "tRNS", "eXIf", "gAMA", "cHRM", "iCCP", "sBIT",
      "bKGD", "hIST", "pHYs", "sPLT", "tEXt", "zTXt", "iTXt", "acTL", "fcTL", "aBCd"};
  Part part{std::string(random.pick(kNames)), {}};
  if (part.head == "IHDR") {
    const auto side = [&] {
      return random.chance(80) ? 1 + random.below(40) : edge_number(random);
    };
    static constexpr std::array kDepths{1, 2, 4, 8, 16, 3, 0};
    part.body = number_bytes(side(), 4, true) + number_bytes(side(), 4, true) +
                static_cast<char>(random.pick(kDepths)) + static_cast<char>(random.below(7)) +
                std::string(2, '\0') + static_cast<char>(random.below(2));
    return part;
  }
  part.body.resize(random.chance(90) ? random.mostly_small(40) : random.mostly_small(4000));
  for (char& c : part.body) c = random.byte();
  if (part.head == "eXIf")
    part.body = "II*" + std::string("\0\x08\0\0\0\x01\0\x12\x01", 9) + part.body;
  return part;
}

}  // namespace

const Format& png_format() {
  static const Format format{split_png, join_png, make_chunk, nullptr, {"IHDR", "IDAT", "PLTE"}};
  return format;
}

}  // namespace ttt::fuzz
