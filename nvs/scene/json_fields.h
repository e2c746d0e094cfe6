// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvs/cameras/geometry.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>

/// Reading JSON files that people and programs wrote. Private to nvs/scene and nvs/cameras.
namespace ttt::nvs {

using Json = nlohmann::json;

/// Parses a file: with or without byte order mark, UTF-16 too, with // and /* */ comments; the NaN
/// and Infinity that Python writes become null, so that they count as missing numbers. Throws
/// Error(input), and says when the file is something else (a Git LFS pointer, a web page, empty).
Json read_json(const std::string& path);

/// A number, also as text ("1920"). Empty when the key is missing. Throws Error(input) for anything
/// else; null and texts that aren't finite give NaN.
std::optional<double> number_field(const Json& object, std::string_view key,
                                   const std::string& where);
/// A width or height: 0 where there is none, -1 where it makes no sense.
int side_of(std::optional<double> value);
/// Throws Error(input) for what is neither text nor missing.
std::optional<std::string> text_field(const Json& object, std::string_view key,
                                      const std::string& where);

/// A 4x4 or 3x4 matrix as rows, or flat (row by row). Values that aren't finite stay so, for the
/// caller to tell. Throws Error(input) for other shapes and for a last row that isn't 0 0 0 1.
Transform matrix_field(const Json& value, const std::string& where);

}  // namespace ttt::nvs
