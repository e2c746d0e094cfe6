// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/weights/dictionary_choice.h"
#include "core/weights/weight_file.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/target.h"

#include <ATen/core/Tensor.h>

namespace ttt::fuzz {
namespace {

/// A dense copy of a tensor with strides of zero may be as large as the file claims.
constexpr std::uint64_t kLargestRead = 1 << 20;

void check_tensor(const WeightFile& file, const TensorInfo& info, Digest& digest) {
  std::uint64_t bytes = element_size(info.dtype);
  for (const std::int64_t side : info.shape) {
    require(side >= 0, "a tensor has a negative size");
    bytes *= static_cast<std::uint64_t>(side);
  }
  require(bytes == info.bytes, "a tensor's bytes don't follow from its shape");
  require(file.find(info.name) == &info, "a tensor isn't found by its name");
  digest.add(info.name);
  digest.add(shape_text(info.shape));
  if (info.bytes > kLargestRead) return;
  const at::Tensor tensor = file.read(info.name);
  require(tensor.is_contiguous() && tensor.nbytes() == info.bytes &&
              tensor.sizes() == at::IntArrayRef(info.shape),
          "a tensor isn't what its file announced");
  digest.add({static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()});
}

Outcome open_weights(const std::string& path, const WeightFileOptions& options = {}) {
  Outcome outcome;
  Digest digest;
  try {
    const WeightFile file = WeightFile::open(path, options);
    outcome.accepted = true;
    for (const std::string& line : file.skipped()) {
      require_printable(line, "a line about what was left out is not printable");
      digest.add(line);
    }
    digest.add(file.weights_key());
    std::uint64_t stored = 0;
    for (const TensorInfo& info : file.tensors()) {
      check_tensor(file, info, digest);
      stored += info.bytes;
    }
    require(file.container() != "safetensors" || stored <= file.file_size(),
            "tensors hold more than their file");
  } catch (const Error& error) {
    check_error(error, {ErrorKind::weights}, true, digest);
  }
  outcome.digest = digest.value();
  return outcome;
}

Outcome read_weight_file(std::string_view bytes) {
  return open_weights(memory_file(bytes));
}

Outcome read_torch_file(std::string_view bytes) {
  const std::string path = memory_file(bytes);
  const Outcome outcome = open_weights(path);
  if (outcome.accepted) open_weights(path, {.weights_key = "."});
  return outcome;
}

/// An index of shards, beside the seeds of single files.
Outcome read_index(std::string_view bytes) {
  static const Folder folder = [] {
    Folder made;
    for (const auto& entry :
         std::filesystem::directory_iterator(source_folder() / "tests/fuzz/corpus/safetensors"))
      std::filesystem::copy(entry.path(), made.path() / entry.path().filename());
    return made;
  }();
  return open_weights(folder.write("model.safetensors.index.json", bytes));
}

Outcome read_bare_pickle(std::string_view bytes) {
  using namespace weights;
  Outcome outcome;
  Digest digest;
  try {
    const PickleDocument document = read_pickle(bytes, "pickle");
    require(document.consumed <= bytes.size(), "a pickle ends behind its end");
    constexpr std::size_t kLooked = 1000;
    for (std::size_t i = 0; i < std::min(document.containers.size(), kLooked); ++i)
      for (std::size_t j = 0; j < std::min(document.containers[i].size(), kLooked); ++j) {
        const std::string name = document.type_name(document.containers[i][j]);
        require_printable(name, "the name of a type is not printable");
        digest.add(name);
      }
    for (const char* wanted : {"", ".", "model"}) {
      try {
        const DictionaryChoice choice = choose_dictionary(document, wanted, "pickle");
        outcome.accepted = true;
        digest.add(choice.key);
        for (const std::string& line : choice.skipped)
          require_printable(line, "a line about what was left out is not printable");
      } catch (const Error& error) {
        check_error(error, {ErrorKind::weights}, true, digest);
      }
    }
  } catch (const Error& error) {
    check_error(error, {ErrorKind::weights}, true, digest);
  }
  outcome.digest = digest.value();
  return outcome;
}

}  // namespace

std::vector<Target> weight_targets() {
  constexpr std::uint64_t kBase = std::uint64_t{16} << 20;
  const Seeds safetensors{"tests/fuzz/corpus/safetensors", ".safetensors"};
  const Seeds torch{"tests/core/weights/data", ".pt"};
  return {{"safetensors", safetensors_format, {safetensors}, read_weight_file, kBase, 128},
          {"index", text_format, {{"tests/fuzz/corpus/index", ".json"}}, read_index, kBase, 256},
          // Deflate packs to 1/1032 at most.
          {"zip", zip_format, {torch}, read_torch_file, kBase, 1300},
          {"pickle",
           pickle_format,
           {{"tests/fuzz/corpus/pickle", ".pkl"}},
           read_bare_pickle,
           kBase,
           256},
          // Whatever a user may take for weights.
          {"weight_file",
           nullptr,
           {safetensors,
            torch,
            {"tests/fuzz/corpus/pickle", ""},
            {"tests/core/media/data", ".png"},
            {"tests/fuzz/corpus/labels", ""},
            {"tests/fuzz/corpus/tar", ""}},
           read_weight_file,
           kBase,
           1300}};
}

}  // namespace ttt::fuzz
