// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/mutate.h"

#include <array>

namespace ttt::fuzz {
namespace {

constexpr char kMarker = '\xFF';
constexpr int kScan = 0xDA;

/// Markers of two bytes: restarts, start and end of the picture, and TEM.
bool stands_alone(int code) {
  return (code >= 0xD0 && code <= 0xD9) || code == 1;
}

/// Where the compressed data behind a scan's header ends.
std::size_t scan_end(std::string_view bytes, std::size_t at) {
  for (; at + 1 < bytes.size(); ++at) {
    const int code = static_cast<unsigned char>(bytes[at + 1]);
    if (bytes[at] == kMarker && code != 0 && (code < 0xD0 || code > 0xD7)) return at;
  }
  return bytes.size();
}

Parts split_jpeg(std::string_view bytes, Random&) {
  Parts parts;
  std::size_t at = 0;
  while (at + 1 < bytes.size() && bytes[at] == kMarker) {
    const int code = static_cast<unsigned char>(bytes[at + 1]);
    Part part{std::string(bytes.substr(at, 2)), {}};
    at += 2;
    if (!stands_alone(code)) {
      const std::size_t length = load_number(bytes, at, 2, true);
      part.body = bytes.substr(std::min(at + 2, bytes.size()), length < 2 ? 0 : length - 2);
      at = std::min(at + 2 + part.body.size(), bytes.size());
    }
    parts.push_back(part);
    if (code != kScan) continue;
    const std::size_t end = scan_end(bytes, at);
    parts.push_back({"", std::string(bytes.substr(at, end - at))});
    at = end;
  }
  if (at < bytes.size()) parts.push_back({"", std::string(bytes.substr(at))});
  return parts;
}

std::string join_jpeg(const Parts& parts, Random& random) {
  std::string bytes;
  for (const Part& part : parts) {
    bytes += part.head;
    if (part.head.size() == 2 && !stands_alone(static_cast<unsigned char>(part.head[1])))
      bytes += number_bytes(rarely_wrong(part.body.size() + 2, random), 2, true);
    bytes += part.body;
  }
  return bytes;
}

Part make_segment(Random& random) {
  // Frames of every kind, tables, restarts, numbers of lines, Exif, Adobe, comments.
  static constexpr std::array<unsigned char, 20> kCodes{0xC0, 0xC1, 0xC2, 0xC3, 0xC9, 0xCA, 0xCC,
                                                        0xC4, 0xDB, 0xDD, 0xDC, 0xDA, 0xD0, 0xD8,
                                                        0xD9, 0xE0, 0xE1, 0xE2, 0xEE, 0xFE};
  const unsigned char code = random.pick(kCodes);
  Part part{std::string{kMarker, static_cast<char>(code)}, {}};
  if (stands_alone(code)) return part;
  part.body.resize(random.mostly_small(80));
  for (char& c : part.body) c = random.byte();
  if (code == 0xE1)
    part.body = std::string("Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01", 18) + part.body;
  if (code == 0xEE) part.body = "Adobe" + part.body;
  return part;
}

}  // namespace

const Format& jpeg_format() {
  static const Format format{split_jpeg, join_jpeg, make_segment, nullptr, {}};
  return format;
}

}  // namespace ttt::fuzz
