// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/scene/picture_finder.h"

#include "core/error.h"
#include "core/inputs/paths.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace ttt::nvs {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

std::string_view folder_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
}

std::string_view without_suffix(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? name : name.substr(0, dot);
}

bool is_absolute(std::string_view name) {
  return name.starts_with('/') || (name.size() > 2 && name[1] == ':' && name[2] == '/');
}

}  // namespace

std::string with_slashes(std::string name) {
  std::replace(name.begin(), name.end(), '\\', '/');
  while (name.starts_with("./")) name.erase(0, 2);
  return name;
}

PictureFinder::PictureFinder(std::vector<std::string> roots, int downscale)
    : roots_(std::move(roots)), downscale_(downscale) {}

const PictureFinder::Folder& PictureFinder::list(const std::string& folder) {
  const auto [entry, added] = folders_.try_emplace(folder);
  if (added) {
    for (std::string& name : inputs::list_folder(folder)) {
      if (inputs::is_clutter(name)) continue;
      entry->second.by_lower_name.emplace(lower(name), name);
      if (inputs::has_picture_suffix(name))
        entry->second.by_stem.emplace(lower(without_suffix(name)), name);
      entry->second.names.push_back(std::move(name));
    }
  }
  return entry->second;
}

std::optional<std::string> PictureFinder::find_exact(const std::string& path) {
  return inputs::is_file(path) ? std::optional(path) : std::nullopt;
}

/// A folder whose name may differ in capitals.
std::optional<std::string> PictureFinder::resolve_folder(const std::string& folder) {
  if (folder.empty() || inputs::is_folder(folder)) return folder;
  const std::optional<std::string> parent = resolve_folder(std::string(folder_of(folder)));
  if (!parent.has_value()) return {};
  const auto found = list(*parent).by_lower_name.find(lower(inputs::name_of(folder)));
  if (found == list(*parent).by_lower_name.end()) return {};
  const std::string path = inputs::join(*parent, found->second);
  return inputs::is_folder(path) ? std::optional(path) : std::nullopt;
}

std::optional<std::string> PictureFinder::find_similar(const std::string& path) {
  const std::optional<std::string> folder = resolve_folder(std::string(folder_of(path)));
  if (!folder.has_value()) return {};
  const Folder& content = list(*folder);
  const std::string name = lower(inputs::name_of(path));
  const auto same = content.by_lower_name.find(name);
  if (same != content.by_lower_name.end()) return find_exact(inputs::join(*folder, same->second));
  // Without a suffix in the name all of it is the stem, also where it has dots.
  for (const std::string& stem : {name, std::string(without_suffix(name))}) {
    if (stem != name && !inputs::has_picture_suffix(name)) continue;
    const auto [first, last] = content.by_stem.equal_range(stem);
    // The usual suffixes first; a file of another kind may lie beside the picture.
    for (const std::string_view suffix : {"png", "jpg", "jpeg"})
      for (auto it = first; it != last; ++it)
        if (inputs::suffix_of(it->second) == suffix) return inputs::join(*folder, it->second);
    if (first != last) return inputs::join(*folder, first->second);
  }
  return {};
}

/// The names to try below the roots, best first.
std::vector<std::string> PictureFinder::candidates(const std::string& name) const {
  std::vector<std::string> out;
  const std::string_view base = inputs::name_of(name);
  const std::string_view folder = folder_of(name);
  const std::string images(folder.empty() ? "images" : folder);
  if (downscale_ > 1) {
    // images_8 beside images, also where the scene names images_2.
    std::string plain = images;
    const std::size_t mark = plain.rfind('_');
    if (mark != std::string::npos &&
        plain.find_first_not_of("0123456789", mark + 1) == std::string::npos)
      plain.erase(mark);
    return {fmt::format("{}_{}/{}", plain, downscale_, base)};
  }
  if (!is_absolute(name)) out.push_back(name);
  if (is_absolute(name)) {
    // A path of another machine: its tail may exist here.
    const std::vector<std::string> parts = inputs::components(name);
    for (std::size_t keep = std::min<std::size_t>(parts.size() - 1, 4); keep > 0; --keep) {
      std::string tail;
      for (std::size_t i = parts.size() - keep; i < parts.size(); ++i)
        tail = inputs::join(tail, parts[i]);
      out.push_back(tail);
    }
    out.push_back("images/" + std::string(base));
  }
  for (const int scale : {2, 4, 8}) out.push_back(fmt::format("{}_{}/{}", images, scale, base));
  return out;
}

std::optional<std::string> PictureFinder::find(const std::string& name) {
  // The system's calls would see the name up to a zero byte, which may be another's.
  if (name.empty() || name.find('\0') != std::string::npos) return {};
  std::vector<std::string> names{name};
  // A backslash may be part of a name; it separates only when no such file exists.
  if (const std::string slashes = with_slashes(name); slashes != name) names.push_back(slashes);
  if (downscale_ <= 1)
    for (const std::string& root : roots_)
      if (auto found = find_exact(name.starts_with('/') ? name : inputs::join(root, name)))
        return found;
  const std::string& last = names.back();
  for (const std::string& candidate : candidates(last))
    for (const std::string& root : roots_) {
      const std::string path = inputs::join(root, candidate);
      std::optional<std::string> found = find_exact(path);
      if (!found.has_value()) found = find_similar(path);
      if (!found.has_value()) continue;
      const bool asked = downscale_ > 1 || *found == inputs::join(root, last);
      const bool only_suffix_added = without_suffix(*found) == inputs::join(root, last);
      if (!asked && !only_suffix_added && ++renamed_ == 1)
        example_ = fmt::format("{} for {}", printable(*found), printable(name));
      return found;
    }
  return {};
}

std::optional<std::string> PictureFinder::summary() const {
  if (renamed_ == 0) return {};
  return fmt::format("{} picture{} found under another name, such as {}", renamed_,
                     renamed_ == 1 ? " was" : "s were", example_);
}

}  // namespace ttt::nvs
