// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/dtype.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace at {
class Tensor;
}

namespace ttt {

/// What a file says about one tensor; known without loading it.
struct TensorInfo {
  std::string name;
  DType dtype{};
  std::vector<std::int64_t> shape;
  std::uint64_t bytes = 0;  ///< elements x element size
};

/// Product of a shape, which a reader has checked for overflow.
std::uint64_t element_count(const TensorInfo& info);
/// "[2, 3]"; "[]" for a scalar.
std::string shape_text(const std::vector<std::int64_t>& shape);

struct WeightFileOptions {
  /// The dictionary of a torch file to take, such as "model" or "state_dict_ema"; parts of a nested
  /// one are joined by dots. Empty: EMA weights first (see WeightFile::weights_key).
  std::string weights_key;
};

/// A file of weights, opened metadata first: names, types and shapes are known and checked after
/// open(), data is read by read(). The content decides the format, never the suffix. Copies share
/// the open file; all functions may be called from several threads.
class WeightFile {
 public:
  /// Opens one of
  /// - a safetensors file, a sharded `*.safetensors.index.json`, or a folder that holds one of
  /// these;
  /// - a zip file written by torch.save (PyTorch >= 1.6). Its pickle is parsed, never executed:
  ///   objects that are not tensors or containers are listed in skipped().
  /// Throws Error(weights) for everything else, naming what the file is, and for damaged files.
  static WeightFile open(const std::filesystem::path& path, const WeightFileOptions& options = {});

  /// "safetensors" or "torch-zip".
  const std::string& container() const;
  /// The path given to open().
  const std::filesystem::path& path() const;
  /// The tensors in file order, without the prefixes that wrappers add (`module.`, `_orig_mod.`,
  /// `_checkpoint_wrapped_module.`, and `model.` where every name has it).
  const std::vector<TensorInfo>& tensors() const;
  /// The tensor of this name, or null.
  const TensorInfo* find(std::string_view name) const;
  /// `__metadata__` of a safetensors file.
  const std::map<std::string, std::string>& metadata() const;
  /// The dictionary chosen in a torch file: the one asked for, else the first of `state_dict_ema`,
  /// `ema`, `model_ema`, `model`, `state_dict`, else the whole, else the only one. Empty for the
  /// whole file.
  const std::string& weights_key() const;
  /// All dictionaries with tensors of a torch file; "" is the outermost one.
  const std::vector<std::string>& available_keys() const;
  /// What else the file holds, as "name: kind", such as "config: yacs.config.CfgNode".
  const std::vector<std::string>& skipped() const;

  /// Loads one tensor: on the CPU, contiguous, in its stored type. Data of safetensors files stays
  /// on disk until touched; writing to the tensor never changes the file. Throws Error(weights) for
  /// an unknown name or damaged data, Error(memory).
  at::Tensor read(std::string_view name) const;

  /// Bytes on disk, of all shards.
  std::uint64_t file_size() const;
  /// SHA-256 of the file in hexadecimal; of a sharded file, the SHA-256 of the lines
  /// "<hash>  <file name>\n" of the shards in the order of their names. Reads the whole file on the
  /// first call.
  std::string content_hash() const;

 private:
  struct State;
  explicit WeightFile(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

}  // namespace ttt
