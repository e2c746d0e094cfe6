// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Paths as bytes, and what the finders of inputs share. Private to core/inputs.
namespace ttt::inputs {

/// Runs of digits by value, all else by bytes; path components one by one.
bool natural_less(std::string_view a, std::string_view b);

/// The part behind the last dot of the name, in lower case; empty without one.
std::string suffix_of(std::string_view path);
std::string_view name_of(std::string_view path);
std::string join(std::string_view folder, std::string_view name);
std::vector<std::string> components(std::string_view path);

/// A suffix of pictures that we read, or of ones that we refuse by name; without regard to case.
bool has_picture_suffix(std::string_view path);
/// Dot files, and what systems leave in folders of pictures.
bool is_clutter(std::string_view name);
/// The first bytes of a file are those of a picture that we read.
bool begins_like_picture(const std::string& path);

bool exists(const std::string& path);
bool is_folder(const std::string& path);
bool is_file(const std::string& path);

/// Names in a folder, in natural order; empty when it can't be read.
std::vector<std::string> list_folder(const std::string& folder);

/// At most the first bytes of a file. Throws Error(input).
std::vector<std::uint8_t> read_head(const std::string& path, std::size_t count);

/// A hint for a path that doesn't exist: the name that almost matches, or the folder that is
/// missing.
std::string hint_for_missing(const std::string& path);

/// Whether a name matches a pattern of `*`, `?`, `[a-z]`, `[!a-z]` and backslash escapes.
bool matches(std::string_view pattern, std::string_view name);
bool is_pattern(std::string_view path);
/// Files and folders that match, in natural order. A component `**` stands for any number of
/// folders; with one, only files match. Names that begin with a dot need a dot in the pattern.
std::vector<std::string> glob(const std::string& pattern);

/// What a folder holds.
struct FolderScan {
  std::vector<std::string>
      files;  ///< pictures, in natural order, as paths that begin with the folder
  std::vector<std::string> ignored_suffixes;  ///< one for each file that is not a picture
};
FolderScan scan_folder(const std::string& folder);

}  // namespace ttt::inputs
