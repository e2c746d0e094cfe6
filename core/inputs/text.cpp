// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/text.h"

#include "core/error.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace ttt {
namespace {

enum class Encoding { bytes, utf16_little, utf16_big };

struct Recognised {
  Encoding encoding = Encoding::bytes;
  std::size_t mark = 0;  ///< bytes of the byte order mark
};

Recognised recognise(std::span<const std::uint8_t> bytes) {
  const auto begins = [&](std::initializer_list<std::uint8_t> mark) {
    return bytes.size() >= mark.size() && std::equal(mark.begin(), mark.end(), bytes.begin());
  };
  if (begins({0xEF, 0xBB, 0xBF})) return {Encoding::bytes, 3};
  if (begins({0xFF, 0xFE})) return {Encoding::utf16_little, 2};
  if (begins({0xFE, 0xFF})) return {Encoding::utf16_big, 2};
  // Without a mark: mostly ASCII, so every other byte is zero.
  const std::size_t pairs = std::min<std::size_t>(bytes.size() / 2, 32);
  std::size_t even_zeros = 0;
  std::size_t odd_zeros = 0;
  for (std::size_t i = 0; i < pairs; ++i) {
    even_zeros += bytes[2 * i] == 0 ? 1 : 0;
    odd_zeros += bytes[2 * i + 1] == 0 ? 1 : 0;
  }
  if (pairs < 2) return {};
  if (odd_zeros * 4 >= pairs * 3 && even_zeros == 0) return {Encoding::utf16_little, 0};
  if (even_zeros * 4 >= pairs * 3 && odd_zeros == 0) return {Encoding::utf16_big, 0};
  return {};
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

std::string from_utf16(std::span<const std::uint8_t> bytes, bool big_endian) {
  constexpr std::uint32_t kReplacement = 0xFFFD;
  const auto unit_at = [&](std::size_t i) -> std::uint32_t {
    const std::uint32_t first = bytes[2 * i];
    const std::uint32_t second = bytes[2 * i + 1];
    return big_endian ? first << 8 | second : second << 8 | first;
  };
  const std::size_t units = bytes.size() / 2;
  std::string out;
  for (std::size_t i = 0; i < units; ++i) {
    const std::uint32_t unit = unit_at(i);
    const bool high = unit >= 0xD800 && unit < 0xDC00;
    const std::uint32_t next = high && i + 1 < units ? unit_at(i + 1) : 0;
    if (next >= 0xDC00 && next < 0xE000) {
      append_utf8(out, 0x10000 + ((unit - 0xD800) << 10) + (next - 0xDC00));
      ++i;
    } else {
      append_utf8(out, unit >= 0xD800 && unit < 0xE000 ? kReplacement : unit);
    }
  }
  return out;
}

}  // namespace

std::string decode_text(std::span<const std::uint8_t> bytes) {
  const Recognised found = recognise(bytes);
  bytes = bytes.subspan(found.mark);
  if (found.encoding == Encoding::bytes)
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  return from_utf16(bytes, found.encoding == Encoding::utf16_big);
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
    if (text.substr(0, 2) == "\r\n") text.remove_prefix(1);
    if (!text.empty()) text.remove_prefix(1);
  }
  return lines;
}

std::vector<std::string> read_text_lines(std::span<const std::uint8_t> bytes) {
  return split_lines(decode_text(bytes));
}

bool looks_like_text(std::span<const std::uint8_t> bytes) {
  const std::string text = decode_text(bytes);
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<std::uint8_t>(c);
    return byte >= 0x20 || byte == '\t' || byte == '\n' || byte == '\r' || byte == '\f';
  });
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\f\v";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<TableRow> parse_table(std::string_view text, char delimiter, std::string_view name) {
  std::vector<TableRow> rows;
  TableRow row;
  std::size_t line = 1;
  std::size_t at = 0;
  while (at < text.size()) {
    if (row.fields.empty()) row.line = line;
    std::string field;
    while (at < text.size() && (text[at] == ' ' || (text[at] == '\t' && delimiter != '\t'))) ++at;
    if (at < text.size() && text[at] == '"') {
      const std::size_t opened = line;
      for (++at;; ++at) {
        TTT_CHECK(at < text.size(), input, fmt::format("the quote of line {} isn't closed", opened),
                  printable(name), "close the quote or double it");
        if (text[at] == '"' && (at + 1 == text.size() || text[at + 1] != '"')) break;
        if (text[at] == '"') ++at;
        if (text[at] == '\n') ++line;
        field.push_back(text[at]);
      }
      ++at;
    }
    const std::size_t end =
        std::min(text.find_first_of(std::string{delimiter, '\r', '\n'}, at), text.size());
    field += trim(text.substr(at, end - at));
    row.fields.push_back(std::move(field));
    at = end;
    if (at < text.size() && text[at] == delimiter) {
      ++at;
      if (at < text.size()) continue;
      row.fields.emplace_back();
    }
    if (row.fields.size() > 1 || !row.fields[0].empty()) rows.push_back(std::move(row));
    row = {};
    if (text.substr(at, 2) == "\r\n") ++at;
    if (at < text.size()) ++at;
    ++line;
  }
  return rows;
}

}  // namespace ttt
