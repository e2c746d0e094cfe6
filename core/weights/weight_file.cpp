// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/weights/weight_file.h"

#include "core/error.h"
#include "core/log.h"
#include "core/weights/content_hash.h"
#include "core/weights/contents.h"
#include "core/weights/file_kind.h"
#include "core/weights/prefixes.h"
#include "core/weights/safetensors.h"
#include "core/weights/torch_archive.h"

#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>

namespace ttt {
namespace fs = std::filesystem;

struct WeightFile::State {
  fs::path path;
  weights::Contents contents;                               // tensor names without wrapper prefixes
  std::unordered_map<std::string_view, std::size_t> index;  // views into contents.tensors
  mutable std::once_flag hash_once;
  mutable std::string hash;
};

namespace {

weights::Contents open_container(const fs::path& path, const WeightFileOptions& options) {
  auto file = std::make_shared<weights::MappedFile>(path);
  const weights::FileKind kind = weights::recognise_file(*file);
  if (kind == weights::FileKind::zip)
    return weights::open_torch_archive(std::move(file), options.weights_key);
  TTT_CHECK(options.weights_key.empty(), weights,
            "the file has no dictionary \"" + printable(options.weights_key) +
                "\": safetensors files hold one set of weights",
            file->where(), "leave out --weights-key");
  return kind == weights::FileKind::json ? weights::open_safetensors_index(*file)
                                         : weights::open_safetensors(std::move(file));
}

std::string join(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Gives the tensors the names that models know, and says so once.
void rename_tensors(weights::Contents& contents, const std::string& where) {
  constexpr std::size_t kMaxName = 2000;
  std::vector<std::string> names;
  for (const TensorInfo& info : contents.tensors) {
    TTT_CHECK(info.name.size() <= kMaxName, weights,
              fmt::format("a tensor has a name of {} bytes", info.name.size()), where,
              "the file is damaged; fetch it again");
    names.push_back(info.name);
  }
  const std::vector<std::string> prefixes = weights::strip_wrapper_prefixes(names);
  if (prefixes.empty()) return;
  std::unordered_map<std::string_view, std::size_t> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto [at, is_new] = seen.emplace(names[i], i);
    TTT_CHECK(is_new, weights,
              fmt::format("\"{}\" and \"{}\" are the same tensor \"{}\" once wrapper prefixes are "
                          "removed",
                          printable(contents.tensors[at->second].name),
                          printable(contents.tensors[i].name), printable(names[i])),
              where, "save the state dict of the unwrapped model");
  }
  std::size_t changed = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] != contents.tensors[i].name) ++changed;
    contents.tensors[i].name = std::move(names[i]);
  }
  log_info("weights: removed {} from {} tensor names", join(prefixes), changed);
}

}  // namespace

WeightFile::WeightFile(std::shared_ptr<const State> state) : state_(std::move(state)) {}

WeightFile WeightFile::open(const fs::path& path, const WeightFileOptions& options) {
  auto state = std::make_shared<State>();
  state->path = path;
  const fs::path file = weights::resolve_weight_path(path);
  state->contents = open_container(file, options);
  rename_tensors(state->contents, printable(file.string()));
  const std::vector<TensorInfo>& tensors = state->contents.tensors;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    TTT_CHECK(state->index.emplace(tensors[i].name, i).second, weights,
              "the tensor \"" + printable(tensors[i].name) + "\" occurs twice",
              printable(file.string()), "save the weights again");
  return WeightFile(std::move(state));
}

const std::string& WeightFile::container() const {
  return state_->contents.container;
}
const fs::path& WeightFile::path() const {
  return state_->path;
}
const std::vector<TensorInfo>& WeightFile::tensors() const {
  return state_->contents.tensors;
}
const std::map<std::string, std::string>& WeightFile::metadata() const {
  return state_->contents.metadata;
}
const std::string& WeightFile::weights_key() const {
  return state_->contents.weights_key;
}
const std::vector<std::string>& WeightFile::available_keys() const {
  return state_->contents.available_keys;
}
const std::vector<std::string>& WeightFile::skipped() const {
  return state_->contents.skipped;
}

const TensorInfo* WeightFile::find(std::string_view name) const {
  const auto at = state_->index.find(name);
  return at == state_->index.end() ? nullptr : &state_->contents.tensors[at->second];
}

at::Tensor WeightFile::read(std::string_view name) const {
  const auto at = state_->index.find(name);
  TTT_CHECK(at != state_->index.end(), weights, "there is no tensor \"" + printable(name) + "\"",
            printable(state_->path.string()), "list the tensors with `ttt inspect`");
  try {
    return state_->contents.reader->read(at->second);
  } catch (const std::bad_alloc&) {
  } catch (const c10::OutOfMemoryError&) {
  } catch (const c10::Error&) {  // what the CPU allocator of LibTorch throws
  }
  throw Error(ErrorKind::memory,
              fmt::format("there is no memory for the tensor \"{}\" of {} bytes", printable(name),
                          state_->contents.tensors[at->second].bytes),
              printable(state_->path.string()), "close other programs or use a larger machine");
}

std::uint64_t WeightFile::file_size() const {
  return state_->contents.file_size;
}

std::string WeightFile::content_hash() const {
  std::call_once(state_->hash_once, [this] {
    const std::vector<fs::path>& files = state_->contents.files;
    if (files.size() == 1) {
      state_->hash = weights::sha256_of_file(files.front());
      return;
    }
    std::string lines;
    for (const fs::path& file : files)
      lines += weights::sha256_of_file(file) + "  " + file.filename().string() + "\n";
    state_->hash = weights::sha256(lines);
  });
  return state_->hash;
}

std::uint64_t element_count(const TensorInfo& info) {
  return info.bytes / element_size(info.dtype);
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace ttt
