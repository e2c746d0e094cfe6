// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ttt::vision {

/// Names of a classifier's classes, by class index.
class LabelSet {
 public:
  /// Reads one name per line, `index<TAB>id<TAB>name` rows, a JSON list of names, or a JSON map
  /// index → name or name → index. Byte-order marks, CR LF and UTF-16 are accepted.
  /// Throws Error(input) when the file can't be read or an index is missing, repeated or malformed.
  static LabelSet from_file(const std::string& path);
  /// The 1000 ImageNet-1k classes (assets/imagenet1k-labels.tsv, compiled in).
  static LabelSet imagenet();
  static LabelSet from_names(std::vector<std::string> names);

  std::size_t size() const { return names_.size(); }
  /// Name of a class, or "class N" where the set has none.
  std::string name(std::int64_t index) const;
  /// Index of the class whose id (WordNet id) or name this is, ignoring case and taking "_" for a
  /// blank; nothing when there is none or it is ambiguous.
  std::optional<std::int64_t> find(std::string_view id_or_name) const;

 private:
  static LabelSet from_text(std::span<const std::uint8_t> bytes, const std::string& path);
  void add(std::string id, std::string name);

  std::vector<std::string> names_;
  std::map<std::string, std::int64_t> by_key_;  // −1 marks an ambiguous key
};

/// Class indices of the class names of a labelled data set: by id or name where `labels` knows them
/// all; else as numbers where all are class indices; else, when there are as many names as classes,
/// by their sorted order as the official loader does. Empty when none of these holds.
std::map<std::string, std::int64_t> match_class_folders(
    const std::vector<std::string>& sorted_names, const LabelSet& labels, std::int64_t classes);

}  // namespace ttt::vision
