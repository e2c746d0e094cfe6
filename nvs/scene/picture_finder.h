// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ttt::nvs {

/// Finds the pictures that a scene's files name, where the names almost match: backslashes for
/// slashes, no suffix or another one, other capitals, an absolute path of another machine, a
/// downscaled folder. Folders are listed once.
class PictureFinder {
 public:
  /// Names are relative to the first of the roots that has them. With `downscale` N, pictures come
  /// from the folder images_N beside the one named.
  explicit PictureFinder(std::vector<std::string> roots, int downscale = 0);

  /// The picture's path, or nothing.
  std::optional<std::string> find(const std::string& name);

  /// "2 pictures have other names on disk, such as a.PNG for a.png", or nothing.
  std::optional<std::string> summary() const;
  /// Where names are looked for, for messages.
  const std::string& root() const { return roots_.front(); }

 private:
  struct Folder {
    std::vector<std::string> names;                         // in natural order
    std::multimap<std::string, std::string> by_lower_name;  // lower case -> name
    std::multimap<std::string, std::string> by_stem;        // lower case without suffix -> name
  };

  const Folder& list(const std::string& folder);
  std::optional<std::string> resolve_folder(const std::string& folder);
  std::optional<std::string> find_exact(const std::string& path);
  std::optional<std::string> find_similar(const std::string& path);
  std::vector<std::string> candidates(const std::string& name) const;

  std::vector<std::string> roots_;
  int downscale_;
  std::map<std::string, Folder> folders_;
  std::size_t renamed_ = 0;
  std::string example_;
};

/// The name with a backslash for each slash turned round, without leading "./".
std::string with_slashes(std::string name);

}  // namespace ttt::nvs
