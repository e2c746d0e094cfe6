// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <array>

namespace ttt::fuzz {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kSizeField = 124;
constexpr std::size_t kChecksumField = 148;
constexpr std::size_t kTypeField = 156;

std::uint64_t octal(std::string_view digits) {
  std::uint64_t value = 0;
  for (const char c : digits)
    if (c >= '0' && c <= '7') value = value * 8 + static_cast<std::uint64_t>(c - '0');
  return value;
}

/// `count` octal digits and a zero byte.
void store_octal(std::string& block, std::size_t at, std::size_t count, std::uint64_t value) {
  for (std::size_t i = 0; i < count; ++i)
    block[at + count - 1 - i] = static_cast<char>('0' + (value >> 3 * i & 7));
  block[at + count] = '\0';
}

Parts split_tar(std::string_view bytes, Random&) {
  Parts parts;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::string head(bytes.substr(at, kBlock));
    at += head.size();
    const std::uint64_t size =
        head.size() == kBlock ? octal(std::string_view(head).substr(kSizeField, 11)) : 0;
    const std::string body(bytes.substr(at, size));
    at = std::min(at + (body.size() + kBlock - 1) / kBlock * kBlock, bytes.size());
    parts.push_back({head, body});
  }
  return parts;
}

std::string join_tar(const Parts& parts, Random& random) {
  std::string bytes;
  for (const Part& part : parts) {
    std::string head = part.head;
    head.resize(kBlock);
    const bool zeros = head.find_first_not_of('\0') == std::string::npos;
    if (!zeros) {
      if (random.chance(95))
        store_octal(head, kSizeField, 11, rarely_wrong(part.body.size(), random));
      std::fill_n(head.begin() + kChecksumField, 8, ' ');
      std::uint64_t sum = 0;
      for (const char c : head) sum += static_cast<unsigned char>(c);
      store_octal(head, kChecksumField, 6, rarely_wrong(sum, random));
    }
    bytes += head + part.body;
    if (random.chance(97)) bytes.resize((bytes.size() + kBlock - 1) / kBlock * kBlock);
  }
  return bytes;
}

Part make_file(Random& random) {
  static constexpr std::string_view kTypes("0\0x57LKxg123456S", 16);
  static constexpr std::array<std::string_view, 8> kBodies{"20 path=long/name.jpg\n",
                                                           "11 path=a\n",
                                                           "18 size=12345678\n",
                                                           "99999999999 path=a\n",
                                                           "12 size=-1\n",
                                                           "23 GNU.sparse.major=1\n",
                                                           "a/./b//c.png",
                                                           "0"};
  std::string head(kBlock, '\0');
  const std::string name = random.chance(50) ? "folder/a.png" : "b.jpg";
  head.replace(0, name.size(), name);
  head[kTypeField] = random.pick(kTypes);
  head.replace(157, 5, "b.jpg");
  head.replace(257, 8,
               std::string("ustar\0"
                           "00",
                           8));
  std::string body(random.pick(kBodies));
  if (random.chance(30)) body.resize(random.mostly_small(3000), 'x');
  return {head, body};
}

}  // namespace

const Format& tar_format() {
  static const Format format{
      split_tar, join_tar, make_file, nullptr, {" path=", " size=", " linkpath=", "ustar", "../"}};
  return format;
}

}  // namespace ttt::fuzz
