// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace ttt::cli {

/// Version of the layout of all our JSON results.
constexpr int kSchema = 1;

/// `text` if it is valid UTF-8, else with every other byte written as \xNN.
std::string utf8_text(std::string_view text);
bool is_utf8(std::string_view text);

/// Sets object[key] to a name of unknown encoding. When it is not valid UTF-8, object[key + "_hex"]
/// holds its exact bytes, so that nothing is lost.
void put_name(nlohmann::ordered_json& object, const std::string& key, std::string_view name);
/// The exact bytes that put_name was given. Empty when the object has no such name.
std::string get_name(const nlohmann::ordered_json& object, const std::string& key);

/// One line, or indented. Strings go through utf8_text, numbers get their shortest form, those that
/// are not finite become null.
std::string dump_json(const nlohmann::ordered_json& value, int indent = -1);

/// One CSV field as in RFC 4180: quoted when it holds a comma, a quote or a line break.
std::string csv_field(std::string_view text);

/// The number rounded to so many significant digits; its shortest decimal form has no more.
double significant(double value, int digits);
/// The double with the shortest decimal form that gives the same float back.
double shortest(float value);

/// "1 h 02 min", "3 min 20 s", "12 s".
std::string duration_text(double seconds);

}  // namespace ttt::cli
