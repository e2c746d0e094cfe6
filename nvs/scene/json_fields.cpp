// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/scene/json_fields.h"

#include "core/error.h"
#include "core/inputs/read_file.h"
#include "core/inputs/text.h"

#include <spdlog/fmt/fmt.h>

#include <charconv>
#include <limits>

namespace ttt::nvs {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// NaN, Infinity and -Infinity outside of strings become null.
std::string without_non_finite(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\' && i + 1 < text.size()) {
      out += text.substr(i++, 2);
      continue;
    }
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == 'N' || c == 'I' || c == 'n' || c == 'i') &&
        (out.empty() || !is_word(out.back()))) {
      std::size_t length = 1;
      while (i + length < text.size() && is_word(text[i + length])) ++length;
      const std::string_view word = text.substr(i, length);
      if (word == "NaN" || word == "nan" || word == "Infinity" || word == "inf" || word == "Inf") {
        if (!out.empty() && (out.back() == '-' || out.back() == '+')) out.pop_back();
        out += "null";
        i += length - 1;
        continue;
      }
      out += word;
      i += length - 1;
      continue;
    }
    out.push_back(c);
  }
  return out;
}

void check_is_json(std::string_view text, const std::string& path) {
  const std::string_view begin = trim(text.substr(0, 4096));
  TTT_CHECK(!begin.empty(), input, "the file is empty", printable(path),
            "get or export the scene again");
  TTT_CHECK(!begin.starts_with("version https://git-lfs"), input,
            "the file is a Git LFS pointer, not the data", printable(path),
            "fetch the data with git lfs pull");
  TTT_CHECK(begin[0] != '<', input, "the file is a web page, not JSON", printable(path),
            "download the file itself, not the page about it");
}

double parse_number(const std::string& text, const std::string& where, std::string_view key) {
  const std::string_view trimmed = trim(text);
  double value = 0;
  const char* end = trimmed.data() + trimmed.size();
  const auto [stop, error] = std::from_chars(trimmed.data(), end, value);
  TTT_CHECK(error == std::errc{} && stop == end && !trimmed.empty(), input,
            fmt::format("{} is not a number: \"{}\"", key, printable(text, 40)), where);
  return std::isfinite(value) ? value : kNaN;
}

double element(const Json& value, const std::string& where) {
  if (value.is_null()) return kNaN;
  TTT_CHECK(value.is_number(), input, "a matrix holds something other than numbers", where);
  return value.get<double>();
}

}  // namespace

Json read_json(const std::string& path) {
  const std::vector<std::uint8_t> bytes = inputs::read_file(path);
  const std::string text = decode_text(bytes);
  check_is_json(text, path);
  try {
    constexpr bool kThrow = true, kWithComments = true;
    return Json::parse(without_non_finite(text), nullptr, kThrow, kWithComments);
  } catch (const Json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 3, column 1: …"
    std::string_view what = error.what();
    what.remove_prefix(std::min(what.find("] ") + 2, what.size()));
    throw Error(ErrorKind::input, "not valid JSON: " + printable(what, 160), printable(path),
                "get or export the scene again");
  }
}

std::optional<double> number_field(const Json& object, std::string_view key,
                                   const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end()) return {};
  if (found->is_null()) return kNaN;
  if (found->is_string()) return parse_number(found->get<std::string>(), where, key);
  TTT_CHECK(found->is_number(), input, fmt::format("{} is not a number", key), where);
  const double value = found->get<double>();
  return std::isfinite(value) ? value : kNaN;
}

int side_of(std::optional<double> value) {
  if (!value.has_value() || !std::isfinite(*value)) return 0;
  return *value >= 0 && *value < 2e9 ? static_cast<int>(*value) : -1;
}

std::optional<std::string> text_field(const Json& object, std::string_view key,
                                      const std::string& where) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return {};
  TTT_CHECK(found->is_string(), input, fmt::format("{} is not a text", key), where);
  return found->get<std::string>();
}

Transform matrix_field(const Json& value, const std::string& where) {
  std::vector<double> flat;
  const auto fail = [&] {
    throw Error(ErrorKind::input, "a pose is not a 4x4 or 3x4 matrix", where,
                "write it as four (or three) rows of four numbers");
  };
  if (!value.is_array() || value.size() > 16) fail();
  for (const Json& row : value) {
    if (!row.is_array()) {
      flat.push_back(element(row, where));
      continue;
    }
    if (row.size() != 4) fail();
    for (const Json& number : row) flat.push_back(element(number, where));
  }
  if (flat.size() != 12 && flat.size() != 16) fail();
  if (flat.size() == 16) {
    const bool last = std::abs(flat[12]) < 1e-6 && std::abs(flat[13]) < 1e-6 &&
                      std::abs(flat[14]) < 1e-6 && std::abs(flat[15] - 1) < 1e-6;
    bool finite = true;
    for (const double number : flat) finite = finite && std::isfinite(number);
    TTT_CHECK(last || !finite, input, "the last row of a pose is not 0 0 0 1", where,
              "write matrices row by row; this one may be transposed");
  }
  return {{{flat[0], flat[1], flat[2], flat[4], flat[5], flat[6], flat[8], flat[9], flat[10]}},
          {flat[3], flat[7], flat[11]}};
}

}  // namespace ttt::nvs
