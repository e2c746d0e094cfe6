// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "training/named_tensors.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace ttt::training {

using Metadata = std::map<std::string, std::string>;

/// Content of one checkpoint. `model` is what other programs load: the averaged weights if there is
/// an average, else the trained ones. `state` is what only a resumed run needs.
struct Checkpoint {
  std::int64_t step = 0;
  NamedTensors model;
  Metadata model_metadata;
  NamedTensors state;
  Metadata state_metadata;
};

/// The checkpoints of one run in a folder: `step-00001234.safetensors` with the model and
/// `step-00001234.state` (also a safetensors file) with the rest, and `best.safetensors`. Each file
/// appears complete or not at all; the model comes last, so its presence means that both are there.
class CheckpointStore {
 public:
  CheckpointStore(std::filesystem::path folder, std::int64_t keep_last);

  /// Writes both files, then removes all but the newest `keep_last` checkpoints.
  void save(const Checkpoint& checkpoint) const;
  void save_best(const NamedTensors& model, const Metadata& metadata) const;
  std::filesystem::path best_path() const { return folder_ / "best.safetensors"; }

  /// Steps of the checkpoints that are complete, ascending.
  std::vector<std::int64_t> steps() const;
  std::filesystem::path model_path(std::int64_t step) const;
  std::filesystem::path state_path(std::int64_t step) const;
  /// Removes every checkpoint, the best included.
  void clear() const;

 private:
  void remove(std::int64_t step) const;

  std::filesystem::path folder_;
  std::int64_t keep_last_;
};

/// Copies a saved file's tensors into these, all of which it must hold. Throws Error(weights).
void restore_tensors(const WeightFile& file, const NamedTensors& into);

}  // namespace ttt::training
