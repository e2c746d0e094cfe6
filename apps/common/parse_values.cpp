// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/parse_values.h"

#include "core/error.h"

#include <spdlog/fmt/fmt.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

namespace ttt::cli {
namespace {

constexpr int kLargestSide = 16384;

template <typename Number>
std::optional<Number> read_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string quoted(std::string_view text) {
  return '"' + printable(text, 80) + '"';
}

std::string hint_for(std::string_view kind, const Range& range) {
  const std::string bounds = describe(range);
  return fmt::format("give {}{}{}", kind, bounds.empty() ? "" : " ", bounds);
}

template <typename Number>
Number checked(std::optional<Number> value, std::string_view text, std::string_view kind,
               const Range& range, const std::string& where) {
  TTT_CHECK(value, usage, fmt::format("{} is not {}", quoted(text), kind), where,
            hint_for(kind, range));
  const auto number = static_cast<double>(*value);
  TTT_CHECK(number >= range.low && number <= range.high, usage,
            fmt::format("{} is out of range", printable(text, 80)), where, hint_for(kind, range));
  return *value;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find_first_of(separators);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string describe(const Range& range) {
  const bool low = std::isfinite(range.low);
  const bool high = std::isfinite(range.high);
  if (low && high) return fmt::format("from {} to {}", range.low, range.high);
  if (low) return fmt::format("of at least {}", range.low);
  if (high) return fmt::format("of at most {}", range.high);
  return {};
}

std::int64_t parse_integer(std::string_view text, const Range& range, const std::string& where) {
  return checked(read_number<std::int64_t>(text), text, "a whole number", range, where);
}

double parse_real(std::string_view text, const Range& range, const std::string& where) {
  std::optional<double> value = read_number<double>(text);
  if (value && !std::isfinite(*value)) value.reset();
  return checked(value, text, "a number", range, where);
}

bool parse_boolean(std::string_view text, const std::string& where) {
  if (text == "true" || text == "yes" || text == "on" || text == "1") return true;
  if (text == "false" || text == "no" || text == "off" || text == "0") return false;
  throw Error(ErrorKind::usage, quoted(text) + " is neither true nor false", where,
              "give true or false");
}

PixelSize parse_size(std::string_view text, const std::string& where) {
  const std::vector<std::string_view> parts = split(text, "xX,");
  const std::optional<int> width = read_number<int>(parts.front());
  const std::optional<int> height = read_number<int>(parts.back());
  TTT_CHECK(parts.size() <= 2 && width && height, usage, quoted(text) + " is not a size", where,
            "give WIDTHxHEIGHT in pixels, such as 224x224");
  TTT_CHECK(*width >= 1 && *height >= 1 && *width <= kLargestSide && *height <= kLargestSide, usage,
            quoted(text) + " is out of range", where,
            fmt::format("give sides from 1 to {} pixels", kLargestSide));
  return {*width, *height};
}

std::array<double, 3> parse_triple(std::string_view text, const Range& range,
                                   const std::string& where) {
  const std::vector<std::string_view> parts = split(text, ",");
  TTT_CHECK(parts.size() == 1 || parts.size() == 3, usage,
            fmt::format("{} has {} numbers instead of three", quoted(text), parts.size()), where,
            "give three numbers separated by commas (red, green, blue), or one for all");
  std::array<double, 3> values{};
  for (std::size_t i = 0; i < 3; ++i)
    values[i] = parse_real(parts[parts.size() == 1 ? 0 : i], range, where);
  return values;
}

std::string to_string(const PixelSize& size) {
  return std::to_string(size.width) + "x" + std::to_string(size.height);
}

}  // namespace ttt::cli
