// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/weights/dictionary_choice.h"

#include "core/error.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <unordered_set>

namespace ttt::weights {
namespace {

constexpr std::array<std::string_view, 5> kPreferred{"state_dict_ema", "ema", "model_ema", "model",
                                                     "state_dict"};
constexpr std::size_t kMaxDepth = 4;
constexpr std::size_t kMaxListed = 200;
/// Values looked at while listing; a few shared lists can unfold into any number.
constexpr std::size_t kMaxVisits = 20'000;

struct Candidate {
  std::string path;
  PickleValue value;
};

class Chooser {
 public:
  explicit Chooser(const PickleDocument& document) : document_(document) { find_candidates(); }

  const std::vector<Candidate>& candidates() const { return candidates_; }
  const Candidate* find(const std::string& path) const {
    for (const Candidate& candidate : candidates_)
      if (candidate.path == path) return &candidate;
    return nullptr;
  }
  /// The best candidate at `path` or below, by preference; null when there is none or no single
  /// one.
  const Candidate* choose_below(const std::string& path, std::size_t depth = 0) const;
  std::vector<std::string> list_skipped(const Candidate& chosen) const;

 private:
  void find_candidates();
  void list_foreign(PickleValue value, const std::string& path, std::size_t depth,
                    std::vector<std::string>& skipped) const;

  /// Calls `visit(key, value)` for the items with text keys.
  template <typename Visit>
  void for_each_item(PickleValue mapping, Visit visit) const {
    const std::span<const PickleValue> items = document_.items(mapping);
    for (std::size_t i = 0; i + 1 < items.size(); i += 2)
      if (items[i].kind == PickleKind::text) visit(document_.text(items[i]), items[i + 1]);
  }
  bool holds_tensors(PickleValue mapping) const {
    bool found = false;
    for_each_item(mapping, [&](std::string_view, PickleValue value) {
      found = found || (value.kind == PickleKind::tensor &&
                        tensor_dtype(document_, document_.tensors[value.payload]));
    });
    return found;
  }

  const PickleDocument& document_;
  std::vector<Candidate> candidates_;
  mutable std::size_t visits_ = 0;
};

std::string join(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

/// True if `path` is `parent` or lies below it.
bool is_below(const std::string& path, const std::string& parent) {
  return parent.empty() || path == parent ||
         (path.size() > parent.size() && path.starts_with(parent) && path[parent.size()] == '.');
}

void Chooser::find_candidates() {
  struct Level {
    std::string path;
    PickleValue value;
    std::size_t depth;
  };
  std::vector<Level> levels;
  if (document_.is_mapping(document_.root)) levels.push_back({"", document_.root, 0});
  std::unordered_set<std::uint64_t> seen;  // data pointers: dictionaries may hold themselves
  for (std::size_t i = 0; i < levels.size() && candidates_.size() < kMaxListed; ++i) {
    const Level level = levels[i];
    if (!seen.insert(reinterpret_cast<std::uintptr_t>(document_.items(level.value).data())).second)
      continue;
    if (holds_tensors(level.value)) candidates_.push_back({level.path, level.value});
    if (level.depth == kMaxDepth) continue;
    for_each_item(level.value, [&](std::string_view key, PickleValue value) {
      if (document_.is_mapping(value) && key.size() <= 200 && levels.size() < kMaxVisits)
        levels.push_back({join(level.path, key), value, level.depth + 1});
    });
  }
}

const Candidate* Chooser::choose_below(const std::string& path, std::size_t depth) const {
  if (depth > kMaxDepth) return nullptr;
  for (const std::string_view key : kPreferred) {
    const std::string inner = join(path, key);
    const bool exists =
        std::any_of(candidates_.begin(), candidates_.end(),
                    [&](const Candidate& candidate) { return is_below(candidate.path, inner); });
    if (!exists) continue;
    if (const Candidate* chosen = choose_below(inner, depth + 1)) return chosen;
  }
  if (const Candidate* self = find(path)) return self;
  const Candidate* only = nullptr;
  for (const Candidate& candidate : candidates_) {
    if (!is_below(candidate.path, path)) continue;
    if (only != nullptr) return nullptr;
    only = &candidate;
  }
  return only;
}

void Chooser::list_foreign(PickleValue value, const std::string& path, std::size_t depth,
                           std::vector<std::string>& skipped) const {
  if (skipped.size() >= kMaxListed || depth > kMaxDepth || ++visits_ > kMaxVisits) return;
  if (value.kind == PickleKind::object || value.kind == PickleKind::global) {
    skipped.push_back(printable(path, 100) + ": " + document_.type_name(value));
    return;
  }
  if (value.kind == PickleKind::dict)
    for_each_item(value, [&](std::string_view key, PickleValue item) {
      list_foreign(item, join(path, key.substr(0, 100)), depth + 1, skipped);
    });
  if (value.kind == PickleKind::list || value.kind == PickleKind::tuple) {
    std::size_t position = 0;
    for (const PickleValue item : document_.items(value)) {
      if (visits_ > kMaxVisits) return;
      list_foreign(item, path + fmt::format("[{}]", position++), depth + 1, skipped);
    }
  }
}

std::vector<std::string> Chooser::list_skipped(const Candidate& chosen) const {
  std::vector<std::string> skipped;
  // Everything beside the path from the outermost dictionary to the chosen one.
  PickleValue level = document_.root;
  std::string path;
  for (std::size_t depth = 0; depth <= kMaxDepth + 1; ++depth) {
    const bool is_chosen = path == chosen.path;
    std::string next_path;
    PickleValue next;
    for_each_item(level, [&](std::string_view key, PickleValue value) {
      const std::string name = join(path, key.substr(0, 200));
      if (!is_chosen && is_below(chosen.path, name) && next_path.empty()) {
        next_path = name;
        next = value;
        return;
      }
      const bool loaded = is_chosen && value.kind == PickleKind::tensor &&
                          tensor_dtype(document_, document_.tensors[value.payload]);
      if (loaded || find(name) != nullptr || skipped.size() >= kMaxListed) return;
      skipped.push_back(printable(name, 100) + ": " + document_.type_name(value));
      if (value.kind == PickleKind::dict || value.kind == PickleKind::list ||
          value.kind == PickleKind::tuple)
        list_foreign(value, name, 0, skipped);
    });
    if (is_chosen || next_path.empty()) break;
    path = next_path;
    level = next;
  }
  return skipped;
}

std::string list_paths(const std::vector<Candidate>& candidates) {
  constexpr std::size_t kShown = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(candidates.size(), kShown); ++i) {
    const std::string& path = candidates[i].path;
    text += fmt::format("{}\"{}\"", i == 0 ? "" : ", ",
                        path.empty() ? std::string(kWholeFile) : printable(path, 60));
  }
  if (candidates.size() > kShown) text += fmt::format(" and {} more", candidates.size() - kShown);
  return text;
}

/// "dict (model: package.Model, epoch: int, …)".
std::string describe(const PickleDocument& document, PickleValue value) {
  std::string text = document.type_name(value);
  if (value.kind != PickleKind::dict) return text;
  const std::span<const PickleValue> items = document.items(value);
  constexpr std::size_t kShown = 4;
  std::string entries;
  for (std::size_t i = 0; i + 1 < std::min(items.size(), 2 * kShown); i += 2)
    if (items[i].kind == PickleKind::text)
      entries += (entries.empty() ? "" : ", ") + printable(document.text(items[i]), 40) + ": " +
                 document.type_name(items[i + 1]);
  return text + " (" + entries + (items.size() > 2 * kShown ? ", …)" : ")");
}

void refuse_without_tensors(const PickleDocument& document, const std::string& where) {
  const PickleValue root = document.root;
  TTT_CHECK(root.kind != PickleKind::object, weights,
            "the file holds a whole pickled object of class " + document.type_name(root) +
                ", not a dictionary of tensors",
            where, "in Python, save model.state_dict() instead of the model");
  throw Error(ErrorKind::weights,
              "the file holds no dictionary with tensors, only a " + describe(document, root),
              where, "in Python, save model.state_dict() with torch.save");
}

}  // namespace

DictionaryChoice choose_dictionary(const PickleDocument& document, const std::string& wanted,
                                   const std::string& where) {
  const Chooser chooser(document);
  if (chooser.candidates().empty()) refuse_without_tensors(document, where);
  const Candidate* chosen = wanted.empty()         ? chooser.choose_below("")
                            : wanted == kWholeFile ? chooser.find("")
                                                   : chooser.find(wanted);
  if (chosen == nullptr && !wanted.empty() && wanted != kWholeFile) {
    const bool exists =
        std::any_of(chooser.candidates().begin(), chooser.candidates().end(),
                    [&](const Candidate& candidate) { return is_below(candidate.path, wanted); });
    if (exists) chosen = chooser.choose_below(wanted);
  }
  TTT_CHECK(chosen != nullptr, weights,
            wanted.empty() ? "the file holds several dictionaries and none by a usual name"
                           : "the file has no dictionary \"" + printable(wanted, 60) + "\"",
            where, "choose with --weights-key; there is " + list_paths(chooser.candidates()));
  DictionaryChoice choice{chosen->path, chosen->value, {}, chooser.list_skipped(*chosen)};
  for (const Candidate& candidate : chooser.candidates())
    choice.available.push_back(candidate.path);
  return choice;
}

}  // namespace ttt::weights
