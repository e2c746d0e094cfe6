// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/weights/torch_archive.h"

#include "core/error.h"
#include "core/log.h"
#include "core/weights/dictionary_choice.h"
#include "core/weights/torch_dtype.h"
#include "core/weights/zip_archive.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <mutex>
#include <unordered_map>

namespace ttt::weights {
namespace {

/// Checkpoints with 100 000 tensors have pickles of some 30 MB.
constexpr std::uint64_t kMaxPickleBytes = std::uint64_t{256} << 20;
constexpr std::size_t kMaxTensors = 1 << 18;
constexpr const char* kDamaged = "fetch the file again, or save it again with torch.save";

/// Where a tensor lies in its storage; strides and offset in elements.
struct StoredTensor {
  const ZipEntry* entry = nullptr;
  DType dtype{};
  std::int64_t offset = 0;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  bool shared = false;  ///< other tensors use the same storage
};

class TorchReader final : public TensorReader {
 public:
  TorchReader(std::unique_ptr<const ZipArchive> archive, std::vector<StoredTensor> tensors)
      : archive_(std::move(archive)), tensors_(std::move(tensors)) {}

  at::Tensor read(std::size_t index) const override {
    const std::lock_guard lock(mutex_);
    const StoredTensor& stored = tensors_.at(index);
    const at::Tensor storage = load_storage(stored);
    const at::Tensor view =
        at::empty({0}, at::TensorOptions().dtype(scalar_type(stored.dtype)))
            .set_(storage.storage(), stored.offset, stored.shape, stored.strides);
    // A shared storage stays cached, so callers must not be able to write into it.
    return stored.shared ? view.clone(at::MemoryFormat::Contiguous) : view.contiguous();
  }

 private:
  at::Tensor load_storage(const StoredTensor& stored) const {
    if (cached_entry_ == stored.entry) return cached_;
    at::Tensor bytes = at::empty({static_cast<std::int64_t>(stored.entry->size)}, at::kByte);
    archive_->read(*stored.entry, static_cast<char*>(bytes.data_ptr()));
    if (stored.shared) {
      cached_ = bytes;
      cached_entry_ = stored.entry;
    }
    return bytes;
  }

  mutable std::mutex mutex_;
  std::unique_ptr<const ZipArchive> archive_;
  std::vector<StoredTensor> tensors_;
  mutable at::Tensor cached_;
  mutable const ZipEntry* cached_entry_ = nullptr;
};

std::string read_text(const ZipArchive& archive, const ZipEntry& entry) {
  archive.check(entry);
  std::string text(entry.size, '\0');
  archive.read(entry, text.data());
  return text;
}

/// "a/data.pkl", "a/version" and 3 more; for archives that aren't torch's.
std::string name_entries(const std::vector<ZipEntry>& entries) {
  std::string text;
  const std::size_t shown = std::min<std::size_t>(entries.size(), 3);
  for (std::size_t i = 0; i < shown; ++i)
    text += (i == 0 ? "\"" : ", \"") + printable(entries[i].name, 60) + "\"";
  if (entries.size() > shown) text += fmt::format(" and {} more", entries.size() - shown);
  return text;
}

void refuse_other_archive(const ZipArchive& archive) {
  const std::string where = archive.file().where();
  const std::vector<ZipEntry>& entries = archive.entries();
  TTT_CHECK(!entries.empty(), weights, "the zip archive is empty", where, "fetch the file again");
  const auto ends_with = [](std::string_view suffix) {
    return [suffix](const ZipEntry& entry) { return entry.name.ends_with(suffix); };
  };
  TTT_CHECK(!std::all_of(entries.begin(), entries.end(), ends_with(".npy")), weights,
            "this is a NumPy .npz file, which this version doesn't read yet", where,
            "save the arrays as safetensors");
  TTT_CHECK(std::none_of(entries.begin(), entries.end(), ends_with("archive_format")), weights,
            "this is a torch.export archive, which holds a program, not a state dict", where,
            "in Python, save model.state_dict() with torch.save");
  throw Error(ErrorKind::weights,
              "this zip archive was not written by torch.save: it holds " + name_entries(entries) +
                  ", but no data.pkl",
              where, "unpack it and give the weight file inside");
}

/// The entry `<folder>/data.pkl`; the folder is named after the file as it was when saved.
const ZipEntry& find_pickle(const ZipArchive& archive) {
  const ZipEntry* pickle = nullptr;
  const std::string where = archive.file().where();
  for (const ZipEntry& entry : archive.entries()) {
    if (entry.name != "data.pkl" && !entry.name.ends_with("/data.pkl")) continue;
    TTT_CHECK(pickle == nullptr, weights, "the zip archive holds more than one data.pkl", where,
              "unpack it and give one weight file");
    pickle = &entry;
  }
  if (pickle == nullptr) refuse_other_archive(archive);
  const std::string folder = pickle->name.substr(0, pickle->name.size() - 8);
  for (const ZipEntry& entry : archive.entries())
    TTT_CHECK(entry.name != folder + "constants.pkl" && !entry.name.starts_with(folder + "code/"),
              weights, "this is a TorchScript archive, which holds a program", where,
              "in Python, torch.save(torch.jit.load(path).state_dict(), \"weights.pth\")");
  TTT_CHECK(pickle->size <= kMaxPickleBytes, weights,
            fmt::format("the pickle of the file has {} bytes; at most {} are read", pickle->size,
                        kMaxPickleBytes),
            where, "in Python, save only model.state_dict()");
  if (const ZipEntry* order = archive.find(folder + "byteorder"); order && order->size <= 16)
    TTT_CHECK(read_text(archive, *order) != "big", weights,
              "the file was written on a big-endian machine", where,
              "save it again on a little-endian one");
  return *pickle;
}

/// Turns the tensors of one pickled dictionary into checked descriptions.
class TensorCollector {
 public:
  TensorCollector(const PickleDocument& document, const ZipArchive& archive, std::string folder)
      : document_(document), archive_(archive), folder_(std::move(folder)) {
    for (const ZipEntry& entry : archive.entries()) entries_.emplace(entry.name, &entry);
  }

  void collect(PickleValue dictionary) {
    const std::span<const PickleValue> items = document_.items(dictionary);
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      if (items[i].kind != PickleKind::text || items[i + 1].kind != PickleKind::tensor) continue;
      add(document_.text(items[i]), document_.tensors[items[i + 1].payload]);
    }
    std::unordered_map<const ZipEntry*, std::size_t> uses;
    for (const StoredTensor& tensor : stored) ++uses[tensor.entry];
    std::uint64_t storage_bytes = 0;
    for (const auto& use : uses) storage_bytes += use.first->size;
    for (StoredTensor& tensor : stored) tensor.shared = uses[tensor.entry] > 1;
    // Strides of zero let a few bytes claim any size.
    std::uint64_t bytes = 0;
    for (const TensorInfo& info : infos)
      TTT_CHECK(!__builtin_add_overflow(bytes, info.bytes, &bytes) &&
                    bytes / 16 <= storage_bytes + (std::uint64_t{64} << 20),
                weights,
                fmt::format("tensors up to \"{}\" claim {} bytes, their storages have {}",
                            printable(info.name), bytes, storage_bytes),
                archive_.file().where(), kDamaged);
  }

  std::vector<TensorInfo> infos;
  std::vector<StoredTensor> stored;

 private:
  void add(std::string_view name, const PickleTensor& tensor);
  std::vector<std::int64_t> sizes(PickleValue value, const std::string& name) const;
  const ZipEntry& find_entry(const PickleStorage& storage, const std::string& name) const;
  [[noreturn]] void fail(const std::string& name, const std::string& what) const {
    throw Error(ErrorKind::weights, "tensor \"" + printable(name) + "\" " + what,
                archive_.file().where(), kDamaged);
  }

  const PickleDocument& document_;
  const ZipArchive& archive_;
  std::string folder_;
  std::unordered_map<std::string, const ZipEntry*> entries_;
};

std::vector<std::int64_t> TensorCollector::sizes(PickleValue value, const std::string& name) const {
  const std::span<const PickleValue> items = document_.items(value);
  if (value.kind != PickleKind::tuple || items.size() > kMaxDimensions)
    fail(name, "has no proper shape");
  std::vector<std::int64_t> numbers;
  for (const PickleValue item : items) {
    const auto number = static_cast<std::int64_t>(item.payload);
    if (item.kind != PickleKind::integer || number < 0) fail(name, "has no proper shape");
    numbers.push_back(number);
  }
  return numbers;
}

const ZipEntry& TensorCollector::find_entry(const PickleStorage& storage,
                                            const std::string& name) const {
  const std::string record = folder_ + "data/" + std::string(storage.key);
  const auto at = entries_.find(record);
  if (at == entries_.end())
    fail(name, "needs the record \"" + printable(record) + "\", which is absent");
  const ZipEntry& entry = *at->second;
  archive_.check(entry);
  const std::optional<DType> dtype = dtype_from_torch(storage.type);
  const std::size_t size = dtype ? element_size(*dtype) : 1;
  if (storage.elements < 0 || entry.size % size != 0 ||
      static_cast<std::uint64_t>(storage.elements) != entry.size / size)
    fail(name,
         fmt::format("needs a storage of {} elements of {} bytes, but its record has {} bytes",
                     storage.elements, size, entry.size));
  return entry;
}

void TensorCollector::add(std::string_view key, const PickleTensor& tensor) {
  const std::optional<DType> dtype = tensor_dtype(document_, tensor);
  if (!dtype) return;  // listed as skipped
  TensorInfo info{std::string(key), *dtype, {}, 0};
  TTT_CHECK(infos.size() < kMaxTensors, weights,
            fmt::format("the file has more than {} tensors", kMaxTensors), archive_.file().where(),
            kDamaged);
  info.shape = sizes(tensor.shape, info.name);
  StoredTensor place{&find_entry(document_.storages[tensor.storage], info.name), *dtype,
                     tensor.offset, info.shape, sizes(tensor.strides, info.name)};
  if (place.strides.size() != info.shape.size() || place.offset < 0 ||
      !tensor_bytes(info.shape, *dtype, info.bytes))
    fail(info.name, "has the impossible shape " + shape_text(info.shape) + " with strides " +
                        shape_text(place.strides));
  // The last element must lie inside the storage.
  std::int64_t last = place.offset;
  bool fits = true;
  if (info.bytes > 0)
    for (std::size_t i = 0; i < info.shape.size(); ++i) {
      std::int64_t step = 0;
      fits = fits && !__builtin_mul_overflow(info.shape[i] - 1, place.strides[i], &step) &&
             !__builtin_add_overflow(last, step, &last);
    }
  const auto elements = static_cast<std::int64_t>(place.entry->size / element_size(*dtype));
  if (!fits || (info.bytes > 0 ? last >= elements : place.offset > elements))
    fail(info.name, fmt::format("of shape {} reaches outside its storage of {} bytes",
                                shape_text(info.shape), place.entry->size));
  infos.push_back(std::move(info));
  stored.push_back(std::move(place));
}

/// The least size of a file whose end is missing, from the pickle at its front; 0 if that is cut
/// too.
std::uint64_t expected_size(const MappedFile& file) {
  constexpr std::size_t kLocalHeader = 30;
  const std::string_view bytes = file.bytes();
  if (bytes.size() < kLocalHeader) return 0;
  const auto number = [&](std::size_t at) {
    return static_cast<std::size_t>(static_cast<unsigned char>(bytes[at])) |
           static_cast<std::size_t>(static_cast<unsigned char>(bytes[at + 1])) << 8;
  };
  const std::size_t method = number(8);
  const std::size_t begin = kLocalHeader + number(26) + number(28);
  if (method != 0 || begin >= bytes.size() ||
      !bytes.substr(kLocalHeader, number(26)).ends_with("data.pkl"))
    return 0;
  try {
    const PickleDocument document = read_pickle(bytes.substr(begin), file.where());
    std::unordered_map<std::string_view, std::uint64_t> storages;
    for (const PickleStorage& storage : document.storages) {
      const std::optional<DType> dtype = dtype_from_torch(storage.type);
      if (storage.elements >= 0 && storage.elements < std::int64_t{1} << 40)
        storages[storage.key] =
            static_cast<std::uint64_t>(storage.elements) * (dtype ? element_size(*dtype) : 1);
    }
    std::uint64_t total = begin + document.consumed;
    for (const auto& storage : storages) total += storage.second;
    return total;
  } catch (const Error&) {
    return 0;
  }
}

}  // namespace

Contents open_torch_archive(std::shared_ptr<const MappedFile> file,
                            const std::string& weights_key) {
  auto archive = std::make_unique<ZipArchive>(file, [&] { return expected_size(*file); });
  const ZipEntry& entry = find_pickle(*archive);
  const std::string pickle = read_text(*archive, entry);
  const PickleDocument document = read_pickle(pickle, file->where());
  DictionaryChoice choice = choose_dictionary(document, weights_key, file->where());
  TensorCollector collector(document, *archive, entry.name.substr(0, entry.name.size() - 8));
  collector.collect(choice.dictionary);
  if (choice.available.size() > 1 || !choice.key.empty()) {
    std::vector<std::string> others;
    for (const std::string& key : choice.available)
      if (key != choice.key)
        others.push_back("\"" + printable(key.empty() ? std::string(kWholeFile) : key) + "\"");
    log_info("weights: taking {} of {}{}",
             choice.key.empty() ? "the whole" : "the dictionary \"" + printable(choice.key) + "\"",
             printable(file->path().filename().string()),
             others.empty() ? "" : fmt::format("; it also holds {}", fmt::join(others, ", ")));
  }
  Contents contents;
  contents.container = "torch-zip";
  contents.tensors = std::move(collector.infos);
  contents.weights_key = std::move(choice.key);
  contents.available_keys = std::move(choice.available);
  contents.skipped = std::move(choice.skipped);
  contents.files = {file->path()};
  contents.file_size = file->size();
  contents.reader = std::make_unique<TorchReader>(std::move(archive), std::move(collector.stored));
  return contents;
}

}  // namespace ttt::weights
