// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/training/tar_members.h"

#include "core/error.h"

#include <charconv>
#include <optional>
#include <string_view>

namespace ttt::vision {
namespace {

constexpr std::size_t kBlock = 512;

using Bytes = std::span<const std::uint8_t>;

std::string_view field(Bytes header, std::size_t offset, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(header.data()) + offset, size);
  return text.substr(0, text.find('\0'));
}

/// An octal number, or a binary one as GNU tar writes large sizes.
std::optional<std::uint64_t> number(Bytes header, std::size_t offset, std::size_t size) {
  std::uint64_t value = 0;
  if ((header[offset] & 0x80U) != 0) {
    for (std::size_t i = 1; i < size; ++i) value = (value << 8) | header[offset + i];
    return value;
  }
  std::string_view text = field(header, offset, size);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 8);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool checksum_fits(Bytes header) {
  constexpr std::size_t kChecksumAt = 148, kChecksumSize = 8;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i)
    sum += i >= kChecksumAt && i < kChecksumAt + kChecksumSize ? std::uint64_t{' '} : header[i];
  return number(header, kChecksumAt, kChecksumSize) == sum;
}

/// The value of "path" among pax records "LENGTH KEY=VALUE\n".
std::string pax_path(std::string_view records) {
  while (!records.empty()) {
    std::size_t length = 0;
    const auto [end, error] =
        std::from_chars(records.data(), records.data() + records.size(), length);
    if (error != std::errc{} || length == 0 || length > records.size()) break;
    std::string_view record = records.substr(0, length);
    record.remove_prefix(static_cast<std::size_t>(end - records.data()) + 1);
    if (record.starts_with("path=")) return std::string(record.substr(5, record.size() - 6));
    records.remove_prefix(length);
  }
  return {};
}

std::string full_name(Bytes header) {
  const std::string name(field(header, 0, 100));
  const std::string_view prefix = field(header, 345, 155);
  const bool ustar = field(header, 257, 6).starts_with("ustar");
  return ustar && !prefix.empty() ? std::string(prefix) + "/" + name : name;
}

}  // namespace

bool looks_like_tar(Bytes bytes) { return bytes.size() >= kBlock && checksum_fits(bytes); }

std::vector<TarMember> tar_members(Bytes bytes, const std::string& where) {
  std::vector<TarMember> members;
  std::string long_name;
  for (std::size_t at = 0; at + kBlock <= bytes.size();) {
    const Bytes header = bytes.subspan(at, kBlock);
    if (header[0] == 0) break;  // the end is marked by zero blocks
    const std::optional<std::uint64_t> size = number(header, 124, 12);
    TTT_CHECK(checksum_fits(header) && size, input, "the tar archive is damaged", where,
              "copy or download it again");
    at += kBlock;
    TTT_CHECK(*size <= bytes.size() - at, input, "the tar archive is cut short", where,
              "copy or download it again");
    const Bytes content = bytes.subspan(at, *size);
    const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
    const char type = static_cast<char>(header[156]);
    if (type == 'L') {
      long_name = text.substr(0, text.find('\0'));
    } else if (type == 'x') {
      long_name = pax_path(text);
    } else {
      if (type == '0' || type == '\0')
        members.push_back({long_name.empty() ? full_name(header) : long_name, at, *size});
      long_name.clear();
    }
    const std::uint64_t padded = (*size + kBlock - 1) / kBlock * kBlock;
    if (padded > bytes.size() - at) break;
    at += padded;
  }
  return members;
}

}  // namespace ttt::vision
