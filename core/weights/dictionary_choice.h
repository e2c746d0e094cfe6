// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/weights/pickle_document.h"

namespace ttt::weights {

/// Stands for the outermost dictionary where a key is asked for.
inline constexpr std::string_view kWholeFile = ".";

/// The state dict of a checkpoint.
struct DictionaryChoice {
  std::string key;  ///< path of keys joined by dots; "" is the outermost
  PickleValue dictionary;
  std::vector<std::string> available;  ///< paths of all dictionaries that hold tensors directly
  std::vector<std::string> skipped;    ///< "name: type" of everything else around it
};

/// Chooses: the dictionary `wanted` if given; else, at each level, the first of state_dict_ema,
/// ema, model_ema, model, state_dict that leads to tensors; else the level itself if it holds
/// tensors; else the only one there is. Throws Error(weights) that lists what there is.
DictionaryChoice choose_dictionary(const PickleDocument& document, const std::string& wanted,
                                   const std::string& where);

}  // namespace ttt::weights
