// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"

#include <array>
#include <cstdint>
#include <cstdio>

namespace ttt {
namespace {

struct KindInfo {
  ErrorKind kind;
  std::string_view name;
  int exit_code;
};

constexpr std::array<KindInfo, 10> kKinds{{{ErrorKind::usage, "usage", 2},
                                           {ErrorKind::input, "input", 4},
                                           {ErrorKind::weights, "weights", 3},
                                           {ErrorKind::unsupported, "unsupported", 4},
                                           {ErrorKind::output, "output", 5},
                                           {ErrorKind::memory, "memory", 6},
                                           {ErrorKind::device, "device", 7},
                                           {ErrorKind::check, "check", 8},
                                           {ErrorKind::internal, "internal", 70},
                                           {ErrorKind::interrupted, "interrupted", 130}}};

const KindInfo& info(ErrorKind kind) {
  for (const KindInfo& entry : kKinds)
    if (entry.kind == kind) return entry;
  return kKinds[8];
}

std::string with_place(const std::string& what, const std::string& where) {
  return where.empty() ? what : what + " (" + where + ")";
}

/// Length of the valid UTF-8 sequence that starts at text[i], or 0.
std::size_t utf8_length(std::string_view text, std::size_t i) {
  const auto byte = [&](std::size_t k) { return static_cast<std::uint8_t>(text[k]); };
  const std::uint8_t lead = byte(i);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 && lead <= 0xF4  ? 4
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xC2 && lead < 0xE0 ? 2
                                                           : 0;
  if (length == 0 || i + length > text.size()) return 0;
  for (std::size_t k = 1; k < length; ++k)
    if ((byte(i + k) & 0xC0) != 0x80) return 0;
  // Overlong forms, surrogates and values above U+10FFFF.
  const std::uint8_t second = byte(i + 1);
  if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
      (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F))
    return 0;
  return length;
}

}  // namespace

std::string_view to_string(ErrorKind kind) {
  return info(kind).name;
}

int exit_code(ErrorKind kind) {
  return info(kind).exit_code;
}

Error::Error(ErrorKind kind, std::string what, std::string where, std::string hint,
             std::source_location source)
    : std::runtime_error(with_place(what, where)),
      kind_(kind),
      message_(std::move(what)),
      where_(std::move(where)),
      hint_(std::move(hint)),
      source_(source) {}

std::string printable(std::string_view text, std::size_t max_bytes) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (out.size() >= max_bytes) return out + "…";
    const std::size_t length = utf8_length(text, i);
    const auto byte = static_cast<std::uint8_t>(text[i]);
    if (length == 0 || byte < 0x20 || byte == 0x7F) {
      std::array<char, 5> escaped{};
      std::snprintf(escaped.data(), escaped.size(), "\\x%02X", byte);
      out += escaped.data();
      ++i;
    } else {
      out += text.substr(i, length);
      i += length;
    }
  }
  return out;
}

}  // namespace ttt
