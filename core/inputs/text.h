// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ttt {

/// The text of a file as a person sees it: without byte order mark, UTF-16 (recognised by its mark
/// or its zero bytes) as UTF-8. Other encodings stay as they are.
std::string decode_text(std::span<const std::uint8_t> bytes);

/// Its lines, ended by LF, CR LF or CR; without these and without an empty last line.
std::vector<std::string> split_lines(std::string_view text);

/// decode_text() and split_lines().
std::vector<std::string> read_text_lines(std::span<const std::uint8_t> bytes);

/// No control characters other than blanks and line ends, or UTF-16.
bool looks_like_text(std::span<const std::uint8_t> bytes);

/// Without blanks at both ends.
std::string_view trim(std::string_view text);

struct TableRow {
  std::size_t line = 0;  ///< where it begins, from 1
  std::vector<std::string> fields;
};

/// The rows of a CSV text (RFC 4180: fields in double quotes may hold delimiters, line ends and
/// doubled quotes). Fields outside quotes are trimmed; empty lines are skipped. Throws Error(input)
/// when a quote isn't closed.
std::vector<TableRow> parse_table(std::string_view text, char delimiter, std::string_view name);

}  // namespace ttt
