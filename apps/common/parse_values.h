// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace ttt::cli {

/// Width and height in pixels.
struct PixelSize {
  int width = 0;
  int height = 0;
  bool operator==(const PixelSize&) const = default;
};

/// Inclusive bounds of a number; an infinite bound means none.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

/// "from 1 to 1000", "at least 0", or empty without bounds.
std::string describe(const Range& range);

// Every function reads the whole text and throws Error(usage) with `where` (the flag, variable or
// line it comes from) when it isn't entirely such a value, or is out of range.

std::int64_t parse_integer(std::string_view text, const Range& range, const std::string& where);
/// Finite numbers only.
double parse_real(std::string_view text, const Range& range, const std::string& where);
/// true/false, yes/no, on/off, 1/0.
bool parse_boolean(std::string_view text, const std::string& where);
/// "224x192" or "224,192" (width first); "224" means a square.
PixelSize parse_size(std::string_view text, const std::string& where);
/// Three numbers separated by commas, or one number for all three channels.
std::array<double, 3> parse_triple(std::string_view text, const Range& range,
                                   const std::string& where);

std::string to_string(const PixelSize& size);

}  // namespace ttt::cli
