// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/paths.h"

#include <algorithm>
#include <set>
#include <sys/stat.h>

namespace ttt::inputs {
namespace {

/// Matches one character against the set that starts behind "[" and moves behind its "]"; a set
/// that isn't closed is a plain bracket, which the caller handles.
bool match_set(std::string_view& pattern, char c) {
  const bool negated = !pattern.empty() && (pattern[0] == '!' || pattern[0] == '^');
  std::size_t at = negated ? 1 : 0;
  bool found = false;
  for (bool first = true; first || pattern[at] != ']'; first = false) {
    const auto low = static_cast<std::uint8_t>(pattern[at]);
    auto high = low;
    if (at + 2 < pattern.size() && pattern[at + 1] == '-' && pattern[at + 2] != ']') {
      high = static_cast<std::uint8_t>(pattern[at + 2]);
      at += 2;
    }
    const auto byte = static_cast<std::uint8_t>(c);
    found = found || (low <= byte && byte <= high);
    ++at;
  }
  pattern.remove_prefix(at + 1);
  return found != negated;
}

bool set_is_closed(std::string_view behind_bracket) {
  const std::size_t start =
      !behind_bracket.empty() && (behind_bracket[0] == '!' || behind_bracket[0] == '^') ? 2 : 1;
  return behind_bracket.find(']', start) != std::string_view::npos;
}

/// Matches the first character of `name` against the front of `pattern` and moves both on.
bool match_one(std::string_view& pattern, std::string_view& name) {
  const char c = name[0];
  const char p = pattern[0];
  pattern.remove_prefix(1);
  name.remove_prefix(1);
  if (p == '?') return true;
  if (p == '[' && set_is_closed(pattern)) return match_set(pattern, c);
  if (p == '\\' && !pattern.empty()) {
    const bool same = pattern[0] == c;
    pattern.remove_prefix(1);
    return same;
  }
  return p == c;
}

struct Search {
  std::vector<std::string> parts;
  std::vector<std::string> found;
  std::set<std::pair<dev_t, ino_t>> parents;
};

void search(Search& search_state, const std::string& folder, std::size_t part);

/// "**" matches no folder, or one folder and "**" again.
void search_deep(Search& state, const std::string& folder, std::size_t part) {
  search(state, folder, part + 1);
  for (const std::string& name : list_folder(folder)) {
    const std::string path = join(folder, name);
    struct stat info {};
    if (is_clutter(name) || ::stat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) continue;
    const auto key = std::pair{info.st_dev, info.st_ino};
    if (!state.parents.insert(key).second) continue;
    search_deep(state, path, part);
    state.parents.erase(key);
  }
}

void search(Search& state, const std::string& folder, std::size_t part) {
  const bool last = part + 1 == state.parts.size();
  const std::string& pattern = state.parts[part];
  if (pattern == "**") return search_deep(state, folder, part);
  for (const std::string& name : list_folder(folder)) {
    if ((name[0] == '.' && pattern[0] != '.') || !matches(pattern, name)) continue;
    const std::string path = join(folder, name);
    if (last && (name[0] == '.' || !is_clutter(name)))
      state.found.push_back(path);
    else if (!last && is_folder(path))
      search(state, path, part + 1);
  }
}

}  // namespace

bool matches(std::string_view pattern, std::string_view name) {
  std::string_view retry_pattern;  // behind the last star
  std::string_view retry_name;
  bool star = false;
  while (!name.empty()) {
    if (!pattern.empty() && pattern[0] == '*') {
      pattern.remove_prefix(1);
      star = true;
      retry_pattern = pattern;
      retry_name = name;
      continue;
    }
    if (!pattern.empty() && match_one(pattern, name)) continue;
    if (!star) return false;
    retry_name.remove_prefix(1);
    pattern = retry_pattern;
    name = retry_name;
  }
  return pattern.find_first_not_of('*') == std::string_view::npos;
}

bool is_pattern(std::string_view path) {
  return path.find_first_of("*?[") != std::string_view::npos;
}

std::vector<std::string> glob(const std::string& pattern) {
  Search state;
  state.parts = components(pattern);
  const bool deep = std::find(state.parts.begin(), state.parts.end(), "**") != state.parts.end();
  if (!state.parts.empty() && state.parts.back() == "**") state.parts.emplace_back("*");
  // The folders in front that hold no pattern are taken as they are.
  std::string root = !pattern.empty() && pattern[0] == '/' ? "/" : "";
  std::size_t first = 0;
  while (first + 1 < state.parts.size() && !is_pattern(state.parts[first]))
    root = join(root, state.parts[first++]);
  if (first < state.parts.size()) search(state, root, first);
  if (deep) std::erase_if(state.found, is_folder);
  std::sort(state.found.begin(), state.found.end(), natural_less);
  state.found.erase(std::unique(state.found.begin(), state.found.end()), state.found.end());
  return std::move(state.found);
}

}  // namespace ttt::inputs
