// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/scene/selection.h"

#include "core/error.h"
#include "nvs/scene/choose_views.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

namespace ttt::nvs {
namespace {

constexpr std::array<std::pair<std::string_view, InputChoice>, 5> kChoices{
    {{"first", InputChoice::first},
     {"uniform", InputChoice::uniform},
     {"kmeans", InputChoice::kmeans},
     {"farthest", InputChoice::farthest},
     {"random", InputChoice::random}}};

std::vector<int> choose_targets(const Scene& scene, const SelectionOptions& options) {
  const std::vector<int> usable = scene.usable();
  std::vector<int> targets;
  if (options.targets == TargetChoice::every_nth) {
    TTT_CHECK(options.every_nth >= 2, usage,
              fmt::format("every {}th view as target leaves no inputs", options.every_nth), {},
              "give 2 or more");
    for (std::size_t i = 0; i < usable.size(); i += static_cast<std::size_t>(options.every_nth))
      targets.push_back(usable[i]);
  } else if (options.targets == TargetChoice::split) {
    for (const Split split : {Split::test, Split::validation}) {
      for (const int i : usable)
        if (scene.frames[static_cast<std::size_t>(i)].split == split) targets.push_back(i);
      if (!targets.empty()) break;
    }
    TTT_CHECK(!targets.empty(), usage, "the scene marks no test views", printable(scene.path),
              "hold out every nth view instead");
  }
  return targets;
}

/// Usable frames that are no targets; of a scene with splits those for training.
std::vector<int> input_pool(const Scene& scene, const SelectionOptions& options,
                            const std::vector<int>& targets) {
  std::vector<int> pool;
  std::vector<int> train;
  for (const int i : scene.usable()) {
    if (std::find(targets.begin(), targets.end(), i) != targets.end()) continue;
    pool.push_back(i);
    if (scene.frames[static_cast<std::size_t>(i)].split == Split::train) train.push_back(i);
  }
  return options.targets == TargetChoice::split && !train.empty() ? train : pool;
}

/// Positions in a pool of `size`.
std::vector<int> choose_inputs(const Scene& scene, const std::vector<int>& pool, int count,
                               const SelectionOptions& options) {
  const auto size = static_cast<int>(pool.size());
  std::vector<int> chosen;
  switch (options.inputs) {
    case InputChoice::first:
      for (int i = 0; i < count; ++i) chosen.push_back(i);
      break;
    case InputChoice::uniform:
      for (int i = 0; i < count; ++i)
        chosen.push_back(count == 1
                             ? size / 2
                             : static_cast<int>((2 * std::int64_t{i} * (size - 1) + (count - 1)) /
                                                (2 * (count - 1))));
      break;
    case InputChoice::kmeans:
      chosen = choose_kmeans(view_features(scene, pool), count);
      break;
    case InputChoice::farthest:
      chosen = choose_farthest(view_features(scene, pool), count);
      break;
    case InputChoice::random:
      chosen = PythonRandom(options.seed).sample(size, count);
      break;
  }
  return chosen;
}

bool parse_int(std::string_view text, int& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end && !text.empty();
}

}  // namespace

InputChoice parse_input_choice(std::string_view name) {
  for (const auto& [known, choice] : kChoices)
    if (known == name) return choice;
  throw Error(ErrorKind::usage, fmt::format("unknown choice of views: {}", printable(name, 60)), {},
              "choose first, uniform, kmeans, farthest or random");
}

std::string_view to_string(InputChoice choice) {
  for (const auto& [name, known] : kChoices)
    if (known == choice) return name;
  return {};
}

ViewSelection select_views(const Scene& scene, const SelectionOptions& options) {
  ViewSelection out;
  out.scene_name = scene.name;
  out.targets = choose_targets(scene, options);
  const std::vector<int> pool = input_pool(scene, options, out.targets);
  const auto size = static_cast<int>(pool.size());
  TTT_CHECK(size > 0, usage,
            fmt::format("all {} usable views are held out as targets, so no input is left",
                        out.targets.size()),
            printable(scene.path), "hold out none, or name the input views");
  const int count = options.input_count == 0 ? size : options.input_count;
  TTT_CHECK(count >= 1 && count <= size, usage,
            fmt::format("{} input views are wanted, but {} can be chosen from", count, size),
            printable(scene.path), "ask for fewer inputs or hold out fewer targets");
  for (const int i : choose_inputs(scene, pool, count, options))
    out.inputs.push_back(pool[static_cast<std::size_t>(i)]);
  std::sort(out.inputs.begin(), out.inputs.end());
  if (options.targets == TargetChoice::rest) {
    for (const int i : pool)
      if (!std::binary_search(out.inputs.begin(), out.inputs.end(), i)) out.targets.push_back(i);
  }
  out.method = std::string(to_string(options.inputs));
  if (options.inputs == InputChoice::random) out.method += fmt::format(" (seed {})", options.seed);
  return out;
}

ViewSelection official_selection(const Scene& scene, PythonRandom& random, int all, int inputs,
                                 int targets, bool sorted) {
  const std::vector<int> usable = scene.usable();
  TTT_CHECK(inputs >= 1 && targets >= 0 && inputs <= all && targets <= all, usage,
            fmt::format("{} inputs and {} targets of {} views", inputs, targets, all), {},
            "ask for no more inputs and targets than views");
  const int drawn = std::min(all, static_cast<int>(usable.size()));
  TTT_CHECK(inputs + targets <= drawn, usage,
            fmt::format("{} inputs and {} targets overlap in {} views, so the metrics would be of "
                        "views that the model has seen",
                        inputs, targets, drawn),
            printable(scene.path), "ask for fewer inputs or targets");
  std::vector<int> sample;
  for (const int i : random.sample(static_cast<int>(usable.size()), drawn))
    sample.push_back(usable[static_cast<std::size_t>(i)]);
  if (sorted) std::sort(sample.begin(), sample.end());
  ViewSelection out;
  out.inputs.assign(sample.begin(), sample.begin() + inputs);
  out.targets.assign(sample.end() - targets, sample.end());
  out.method = fmt::format("random sample of {}", drawn);
  out.scene_name = scene.name;
  return out;
}

std::vector<int> parse_index_list(std::string_view text, const std::string& where) {
  constexpr int kMost = 1'000'000;
  std::vector<int> out;
  const auto fail = [&](std::string_view part) {
    throw Error(ErrorKind::usage, fmt::format("not a view number: \"{}\"", printable(part, 60)),
                where, "give numbers and ranges such as 0,3,8-12");
  };
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    const std::size_t dash = part.find('-', 1);
    int first = 0;
    if (!parse_int(part.substr(0, dash), first)) fail(part);
    int last = first;
    if (dash != std::string_view::npos && !parse_int(part.substr(dash + 1), last)) fail(part);
    if (first < 0 || last < first || last - first >= kMost) fail(part);
    for (int i = first; i <= last; ++i) out.push_back(i);
    if (comma == text.size()) return out;
    text.remove_prefix(comma + 1);
  }
}

void check_selection(const Scene& scene, const ViewSelection& selection) {
  const std::array<std::pair<const std::vector<int>*, std::string_view>, 2> lists{
      {{&selection.inputs, "input"}, {&selection.targets, "target"}}};
  for (const auto& [list, role] : lists) {
    std::set<int> seen;
    for (const int index : *list) {
      TTT_CHECK(
          index >= 0 && static_cast<std::size_t>(index) < scene.frames.size(), usage,
          fmt::format("there is no {} view {}; the scene has {}", role, index, scene.frames.size()),
          printable(scene.path), "views count from 0");
      TTT_CHECK(seen.insert(index).second, usage,
                fmt::format("{} view {} is there twice", role, index), printable(scene.path),
                "name each view once");
      const Frame& frame = scene.frames[static_cast<std::size_t>(index)];
      TTT_CHECK(frame.usable(), input,
                fmt::format("{} view {} can't be used: {}", role, index, frame.problem),
                printable(frame.name), "choose another view");
    }
  }
  TTT_CHECK(!selection.inputs.empty(), usage, "there are no input views", printable(scene.path),
            "choose at least one");
}

std::vector<int> leaked_targets(const Scene& scene, const ViewSelection& selection) {
  std::set<std::string> seen;
  for (const int index : selection.inputs)
    seen.insert(scene.frames[static_cast<std::size_t>(index)].path);
  std::vector<int> leaked;
  for (const int index : selection.targets)
    if (seen.count(scene.frames[static_cast<std::size_t>(index)].path) != 0)
      leaked.push_back(index);
  return leaked;
}

}  // namespace ttt::nvs
