// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/labels.h"

#include "core/error.h"
#include "core/inputs/paths.h"
#include "core/log.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <set>

namespace ttt::inputs {
namespace {

using Parts = std::vector<std::string>;

/// The candidates' paths below the root that they share.
std::vector<Parts> relative_paths(const std::vector<Candidate>& candidates) {
  std::vector<Parts> paths;
  paths.reserve(candidates.size());
  for (const Candidate& candidate : candidates) paths.push_back(components(candidate.item.name));
  if (paths.empty()) return paths;
  std::size_t common = paths[0].size() > 0 ? paths[0].size() - 1 : 0;
  for (const Parts& path : paths) {
    common = std::min(common, path.empty() ? 0 : path.size() - 1);
    const auto first = paths[0].begin();
    common = static_cast<std::size_t>(
        std::mismatch(first, first + static_cast<std::ptrdiff_t>(common), path.begin()).first -
        first);
  }
  for (Parts& path : paths)
    path.erase(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(common));
  return paths;
}

/// In the order of preference.
constexpr std::array<std::string_view, 5> kSplits{"test", "val", "valid", "validation", "train"};

bool is_split(const std::string& name) {
  return std::find(kSplits.begin(), kSplits.end(), name) != kSplits.end();
}

bool is_index(const std::string& label) {
  constexpr std::size_t kMaxDigits = 9;
  return !label.empty() && label.size() <= kMaxDigits &&
         std::all_of(label.begin(), label.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string joined(const std::set<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::string choose_split(std::vector<Candidate>& candidates, const std::string& wanted) {
  const std::vector<Parts> paths = relative_paths(candidates);
  std::set<std::string> present;
  for (const Parts& path : paths)
    if (path.size() == 3 && is_split(path[0])) present.insert(path[0]);
  const bool has_splits =
      present.size() > 1 && std::all_of(paths.begin(), paths.end(), [](const Parts& path) {
        return path.size() == 3 && is_split(path[0]);
      });
  std::string split = wanted;
  if (wanted == "all") return {};
  if (wanted == "auto") {
    if (!has_splits) return {};
    const auto first = std::find_if(kSplits.begin(), kSplits.end(), [&](std::string_view name) {
      return present.contains(std::string(name));
    });
    split = *first;
    log_info("the pictures come in the parts {}: taking {} (--split all takes everything)",
             joined(present), split);
  }
  TTT_CHECK(has_splits && present.contains(split), usage,
            has_splits ? fmt::format("no part \"{}\" among {}", printable(split), joined(present))
                       : std::string("the pictures don't lie in <split>/<class> folders"),
            "--split", has_splits ? "choose one of these, or all" : "leave the option out");
  std::vector<Candidate> kept;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (paths[i][0] == split) kept.push_back(std::move(candidates[i]));
  candidates = std::move(kept);
  return split;
}

void find_labels(std::vector<Candidate>& candidates, InputSet& set) {
  const auto labelled =
      std::count_if(candidates.begin(), candidates.end(),
                    [](const Candidate& candidate) { return candidate.has_label; });
  std::set<std::string> names;
  if (labelled > 0) {
    if (labelled != static_cast<std::ptrdiff_t>(candidates.size())) {
      log_warning("only {} of {} pictures have a label: no accuracy", labelled, candidates.size());
      return;
    }
    for (const Candidate& candidate : candidates) names.insert(candidate.item.class_name);
    set.label_source = LabelSource::table;
    set.labels_are_indices = std::all_of(names.begin(), names.end(), is_index);
  } else {
    std::vector<Parts> paths = relative_paths(candidates);
    // With --split all, the class is below the split.
    const bool splits = std::all_of(paths.begin(), paths.end(), [](const Parts& path) {
      return path.size() == 3 && is_split(path[0]);
    });
    for (Parts& path : paths) {
      if (splits) path.erase(path.begin());
      if (path.size() != 2) return;
      names.insert(path[0]);
    }
    if (names.size() < 2) return;
    for (std::size_t i = 0; i < candidates.size(); ++i) candidates[i].item.class_name = paths[i][0];
    set.label_source = LabelSource::folders;
  }
  set.class_names.assign(names.begin(), names.end());
}

}  // namespace ttt::inputs
