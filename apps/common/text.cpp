// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/text.h"

#include "core/error.h"

#include <spdlog/fmt/fmt.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <utility>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;

/// The shortest decimal text that gives the number back; nlohmann's own is sometimes longer.
void write_number(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  std::array<char, 32> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  const std::string_view text(buffer.data(), static_cast<std::size_t>(result.ptr - buffer.data()));
  out += text;
  if (text.find_first_of(".e") == std::string_view::npos) out += ".0";  // stays a real number
}

void write_json(std::string& out, const Json& value, int indent, int level) {
  const auto new_line = [&](int depth) {
    if (indent < 0) return;
    out += '\n';
    out.append(static_cast<std::size_t>(indent * depth), ' ');
  };
  if (value.is_string()) {
    out += Json(utf8_text(value.get_ref<const std::string&>())).dump();
  } else if (value.is_number_float()) {
    write_number(out, value.get<double>());
  } else if (!value.is_structured() || value.empty()) {
    out += value.dump();
  } else {
    out += value.is_array() ? '[' : '{';
    bool first = true;
    for (const auto& [key, item] : value.items()) {
      if (!std::exchange(first, false)) out += ',';
      new_line(level + 1);
      if (value.is_object()) out += Json(utf8_text(key)).dump() + (indent < 0 ? ":" : ": ");
      write_json(out, item, indent, level + 1);
    }
    new_line(level);
    out += value.is_array() ? ']' : '}';
  }
}

}  // namespace

std::string utf8_text(std::string_view text) {
  std::string out;
  // printable() knows what is valid, but also escapes control characters, which JSON and CSV have
  // their own forms for.
  std::size_t begin = 0;
  const auto flush = [&](std::size_t end) {
    out += printable(text.substr(begin, end - begin), std::numeric_limits<std::size_t>::max());
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte >= 0x20 && byte != 0x7F) continue;
    flush(i);
    out += text[i];
    begin = i + 1;
  }
  flush(text.size());
  return out;
}

bool is_utf8(std::string_view text) {
  return utf8_text(text) == text;
}

void put_name(Json& object, const std::string& key, std::string_view name) {
  object[key] = utf8_text(name);
  if (is_utf8(name)) return;
  std::string hex;
  for (const char c : name) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  object[key + "_hex"] = hex;
}

std::string get_name(const Json& object, const std::string& key) {
  const auto text_of = [&](const std::string& field) {
    const auto found = object.find(field);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
  };
  const std::string hex = text_of(key + "_hex");
  if (hex.empty()) return text_of(key);
  std::string name;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    unsigned value = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, value, 16);
    name += static_cast<char>(value);
  }
  return name;
}

std::string dump_json(const Json& value, int indent) {
  std::string out;
  write_json(out, value, indent, 0);
  return out;
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

double significant(double value, int digits) {
  if (!std::isfinite(value)) return value;
  std::array<char, 40> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.*g", digits, value);
  return std::strtod(buffer.data(), nullptr);
}

double shortest(float value) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  double result = value;
  if (std::isfinite(value)) std::from_chars(buffer.data(), end, result);
  return result;
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(std::max(0.0, seconds)));
  if (whole >= 3600) return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
  if (whole >= 60) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} s", whole);
}

}  // namespace ttt::cli
