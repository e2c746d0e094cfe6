// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvs/scene/python_random.h"
#include "nvs/scene/scene.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ttt::nvs {

/// How input views are chosen from the frames that may be inputs.
enum class InputChoice {
  first,
  uniform,   ///< evenly spread over their order, first and last included
  kmeans,    ///< the cameras nearest to k-means centres of position and forward axis
  farthest,  ///< each next one farthest from those taken, by the same measure
  random,    ///< Python's random.sample with the seed
};
/// Throws Error(usage), naming the choices.
InputChoice parse_input_choice(std::string_view name);
std::string_view to_string(InputChoice choice);

/// Which views are held out to compare with.
enum class TargetChoice {
  none,
  every_nth,  ///< frames 0, n, 2n, … of the usable ones
  rest,       ///< all that are not inputs
  split,      ///< those that the scene marks as test (else validation) frames
};

struct SelectionOptions {
  InputChoice inputs = InputChoice::kmeans;
  int input_count = 0;  ///< 0: all that may be inputs
  TargetChoice targets = TargetChoice::none;
  int every_nth = 8;
  std::uint64_t seed = 0;
};

/// Frame indices of one run; worth a file of its own, since metrics mean nothing without it.
struct ViewSelection {
  std::vector<int> inputs;
  std::vector<int> targets;
  std::string method;  ///< in words, with the seed if there is one
  std::string scene_name;
};

/// Chooses targets first, inputs from what is left; indices ascend. Only usable frames are chosen.
/// Throws Error(usage) when there are too few.
ViewSelection select_views(const Scene& scene, const SelectionOptions& options);

/// The split of the official inference: a random sample of `all` views, of which the first `inputs`
/// are inputs and the last `targets` targets. `sorted` sorts the sample first, as its scene mode
/// does. Scene after scene the same generator goes on. Throws Error(usage) when the two would
/// overlap, where the official code silently measures views that it has seen.
ViewSelection official_selection(const Scene& scene, PythonRandom& random, int all, int inputs,
                                 int targets, bool sorted);

/// Lists like "0,3,8-12". Throws Error(usage); `where` is the option.
std::vector<int> parse_index_list(std::string_view text, const std::string& where);

/// Checks lists that a person or file gave: in range, without repetition, frames usable. Throws
/// Error(usage), or Error(input) for an unusable frame.
void check_selection(const Scene& scene, const ViewSelection& selection);

/// Targets that are inputs too, or have the same picture as one: their metrics would be too good.
std::vector<int> leaked_targets(const Scene& scene, const ViewSelection& selection);

/// JSON with `inputs` and `targets` as lists of index and file name.
std::string selection_to_json(const Scene& scene, const ViewSelection& selection);
/// Reads it back; names count more than indices, so that a selection survives when frames are added
/// or sorted. Throws Error(input) when the scene lacks a name, and checks as check_selection().
ViewSelection read_selection(const Scene& scene, const std::string& file);

}  // namespace ttt::nvs
