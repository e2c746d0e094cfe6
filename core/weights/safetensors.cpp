// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/weights/safetensors.h"

#include "core/error.h"
#include "core/log.h"
#include "core/weights/safetensors_header.h"
#include "core/weights/torch_dtype.h"

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>
#include <unordered_set>

namespace ttt::weights {
namespace fs = std::filesystem;
namespace {

static_assert(std::endian::native == std::endian::little, "weight files are little-endian");

constexpr const char* kDownloadAgain = "the download or copy broke off; fetch the file again";

/// Where the data of one tensor lies.
struct Slice {
  std::shared_ptr<const MappedFile> file;
  std::uint64_t offset = 0;
  TensorInfo info;
};

class SafetensorsReader final : public TensorReader {
 public:
  explicit SafetensorsReader(std::vector<Slice> slices) : slices_(std::move(slices)) {}

  at::Tensor read(std::size_t index) const override {
    const Slice& slice = slices_.at(index);
    const auto options = at::TensorOptions().dtype(scalar_type(slice.info.dtype));
    if (slice.info.bytes == 0) return at::empty(slice.info.shape, options);
    char* data = slice.file->data() + slice.offset;
    // Kernels may assume that elements lie at multiples of their size; the format doesn't promise
    // it.
    if (reinterpret_cast<std::uintptr_t>(data) % element_size(slice.info.dtype) != 0) {
      at::Tensor copy = at::empty(slice.info.shape, options);
      std::memcpy(copy.data_ptr(), data, slice.info.bytes);
      return copy;
    }
    return at::from_blob(
        data, slice.info.shape, [file = slice.file](void*) {}, options);
  }

 private:
  std::vector<Slice> slices_;
};

std::uint64_t header_length(const MappedFile& file) {
  TTT_CHECK(file.size() >= 8, weights, "the file is too short to be a weight file", file.where(),
            kDownloadAgain);
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof(length));
  TTT_CHECK(length <= kMaxSafetensorsHeader, weights,
            fmt::format("the safetensors header claims {} bytes; the format allows {}", length,
                        kMaxSafetensorsHeader),
            file.where(), "the file is damaged; fetch it again");
  TTT_CHECK(length <= file.size() - 8, weights,
            fmt::format("the file is truncated: its header alone needs {} bytes, it has {}",
                        length + 8, file.size()),
            file.where(), kDownloadAgain);
  return length;
}

/// The format wants every byte of the data to belong to exactly one tensor.
void check_coverage(const std::vector<SafetensorsEntry>& entries, std::uint64_t data_begin,
                    const MappedFile& file) {
  const std::uint64_t available = file.size() - data_begin;
  std::uint64_t needed = 0;
  for (const SafetensorsEntry& entry : entries) needed = std::max(needed, entry.end);
  TTT_CHECK(
      needed <= available, weights,
      fmt::format("the file is truncated or its header damaged: {} bytes expected, {} found",
                  needed > UINT64_MAX - data_begin ? UINT64_MAX : needed + data_begin, file.size()),
      file.where(), kDownloadAgain);
  std::uint64_t position = 0;
  for (const SafetensorsEntry& entry : entries) {
    TTT_CHECK(entry.begin == position, weights,
              fmt::format("tensor \"{}\" begins at byte {} of the data, but the one before ends at "
                          "{}: tensors {}",
                          printable(entry.info.name), entry.begin, position,
                          entry.begin < position ? "overlap" : "leave a gap"),
              file.where(), "the file is damaged; fetch or convert it again");
    position = entry.end;
  }
  TTT_CHECK(position == available, weights,
            fmt::format("the file has {} bytes after its last tensor: {} bytes expected, {} found",
                        available - position, data_begin + position, file.size()),
            file.where(), "the file is damaged; fetch or convert it again");
}

struct Shard {
  std::vector<Slice> slices;
  std::map<std::string, std::string> metadata;
};

Shard read_shard(std::shared_ptr<const MappedFile> file) {
  const std::uint64_t length = header_length(*file);
  SafetensorsHeader header =
      parse_safetensors_header(file->bytes().substr(8, length), file->where());
  std::stable_sort(header.entries.begin(), header.entries.end(),
                   [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
                     return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
                   });
  check_coverage(header.entries, length + 8, *file);
  Shard shard{{}, std::move(header.metadata)};
  for (SafetensorsEntry& entry : header.entries)
    shard.slices.push_back({file, length + 8 + entry.begin, std::move(entry.info)});
  return shard;
}

Contents make_contents(std::vector<Slice> slices, std::map<std::string, std::string> metadata) {
  Contents contents;
  contents.container = "safetensors";
  contents.metadata = std::move(metadata);
  for (const Slice& slice : slices) contents.tensors.push_back(slice.info);
  contents.reader = std::make_unique<SafetensorsReader>(std::move(slices));
  return contents;
}

/// `weight_map` of an index file: tensor name -> file name.
std::map<std::string, std::string> read_weight_map(const MappedFile& index) {
  using Json = nlohmann::json;
  TTT_CHECK(index.size() <= kMaxSafetensorsHeader, weights,
            fmt::format("an index of shards has at most {} bytes, this text has {}",
                        kMaxSafetensorsHeader, index.size()),
            index.where(), "give a .safetensors, .pth, .pt or .ckpt file");
  // An index has two levels; deeper nesting is dropped so that it can't cost memory.
  const Json document = Json::parse(
      index.bytes().begin(), index.bytes().end(),
      [](int depth, Json::parse_event_t, Json&) { return depth <= 4; }, false);
  const auto map = document.is_object() ? document.find("weight_map") : document.end();
  TTT_CHECK(!document.is_discarded() && document.is_object() && map != document.end() &&
                map->is_object() && !map->empty(),
            weights, "the file is JSON text, but not an index of safetensors shards", index.where(),
            "give a .safetensors, .pth, .pt or .ckpt file, or an index with a \"weight_map\"");
  std::map<std::string, std::string> files;
  for (const auto& [name, file] : map->items()) {
    TTT_CHECK(file.is_string(), weights,
              "the index has no file name for tensor \"" + printable(name) + "\"", index.where(),
              "fetch the index again");
    const fs::path shard = file.get<std::string>();
    TTT_CHECK(!shard.empty() && shard == shard.filename() && shard != ".." && shard != ".", weights,
              "the index points outside its folder: \"" + printable(shard.string()) + "\"",
              index.where(), "put the shards beside the index and name them without folders");
    files[name] = shard.string();
  }
  return files;
}

}  // namespace

bool tensor_bytes(const std::vector<std::int64_t>& shape, DType dtype, std::uint64_t& bytes) {
  // A zero anywhere makes the product zero, yet the other sizes must still be possible.
  std::int64_t product = static_cast<std::int64_t>(element_size(dtype));
  bool empty = false;
  for (const std::int64_t size : shape) {
    if (size < 0) return false;
    if (size == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(product, size, &product)) {
      return false;
    }
  }
  bytes = empty ? 0 : static_cast<std::uint64_t>(product);
  return true;
}

Contents open_safetensors(std::shared_ptr<const MappedFile> file) {
  const fs::path path = file->path();
  const std::uint64_t size = file->size();
  Shard shard = read_shard(std::move(file));
  Contents contents = make_contents(std::move(shard.slices), std::move(shard.metadata));
  contents.files = {path};
  contents.file_size = size;
  return contents;
}

Contents open_safetensors_index(const MappedFile& index) {
  const std::map<std::string, std::string> weight_map = read_weight_map(index);
  std::map<std::string, std::vector<std::string>> shards;
  for (const auto& [name, file] : weight_map) shards[file].push_back(name);

  std::vector<Slice> slices;
  std::map<std::string, std::string> metadata;
  std::vector<std::string> skipped;
  std::vector<fs::path> files;
  std::uint64_t total = 0;
  for (const auto& [file_name, wanted] : shards) {
    const fs::path path = index.path().parent_path() / file_name;
    std::error_code unusable;  // such as a name that is too long
    TTT_CHECK(
        fs::exists(path, unusable), weights,
        fmt::format("a shard is missing; the index lists {} and needs all of them", shards.size()),
        printable(path.string()), "fetch this file too and put it beside the index");
    auto file = std::make_shared<MappedFile>(path);
    total += file->size();
    Shard shard = read_shard(std::move(file));
    metadata.merge(shard.metadata);
    std::unordered_set<std::string> missing(wanted.begin(), wanted.end());
    for (Slice& slice : shard.slices) {
      if (missing.erase(slice.info.name) != 0)
        slices.push_back(std::move(slice));
      else
        skipped.push_back(printable(slice.info.name) + ": tensor of " + printable(file_name) +
                          " that the index doesn't list there");
    }
    TTT_CHECK(missing.empty(), weights,
              fmt::format("{} tensors that the index expects here are absent, such as \"{}\"",
                          missing.size(), missing.empty() ? "" : printable(*missing.begin())),
              printable(path.string()), "the shards are of different versions; fetch all again");
    files.push_back(path);
  }
  Contents contents = make_contents(std::move(slices), std::move(metadata));
  contents.skipped = std::move(skipped);
  contents.files = std::move(files);
  contents.file_size = total;
  return contents;
}

}  // namespace ttt::weights
