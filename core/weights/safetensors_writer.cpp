// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/weights/safetensors_writer.h"

#include "core/error.h"
#include "core/weights/contents.h"
#include "core/weights/safetensors.h"
#include "core/weights/torch_dtype.h"

#include <ATen/ATen.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace ttt {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kMetadata = "__metadata__";

std::string header_text(const std::vector<TensorInfo>& tensors,
                        const std::map<std::string, std::string>& metadata,
                        const std::string& where) {
  // Each entry is written by itself: one document of many keys would search all of them per insert.
  std::string text = "{";
  const auto add = [&](const std::string& name, const Json& value) {
    text += (text.size() > 1 ? "," : "") + Json(name).dump() + ":" + value.dump();
  };
  try {
    if (!metadata.empty()) add(kMetadata, Json(metadata));
    std::uint64_t offset = 0;
    for (const TensorInfo& info : tensors) {
      add(info.name, Json{{"dtype", safetensors_name(info.dtype)},
                          {"shape", info.shape},
                          {"data_offsets", {offset, offset + info.bytes}}});
      offset += info.bytes;
    }
  } catch (const Json::type_error&) {
    throw Error(ErrorKind::output, "a tensor name or metadata text is not valid UTF-8", where,
                "rename the tensor");
  }
  text += "}";
  // Padded so that the data begins at a multiple of eight.
  text.resize((text.size() + 7) / 8 * 8, ' ');
  TTT_CHECK(text.size() <= weights::kMaxSafetensorsHeader, output,
            "names and metadata are longer than the safetensors format allows", where,
            "write fewer tensors or less metadata");
  return text;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path,
                                     std::vector<TensorInfo> tensors,
                                     const std::map<std::string, std::string>& metadata)
    : tensors_(std::move(tensors)), file_(path) {
  const std::string where = printable(path.string());
  std::unordered_set<std::string_view> names;
  for (TensorInfo& info : tensors_) {
    TTT_CHECK(info.name != kMetadata && names.insert(info.name).second, output,
              "the tensor name \"" + printable(info.name) + "\" is reserved or used twice", where,
              "rename the tensor");
    TTT_CHECK(weights::tensor_bytes(info.shape, info.dtype, info.bytes), output,
              "the tensor \"" + printable(info.name) + "\" has the impossible shape " +
                  shape_text(info.shape),
              where, "write smaller tensors");
  }
  std::stable_sort(tensors_.begin(), tensors_.end(), [](const TensorInfo& a, const TensorInfo& b) {
    return element_size(a.dtype) > element_size(b.dtype);
  });
  const std::string header = header_text(tensors_, metadata, where);
  const std::uint64_t length = header.size();
  file_.stream().write(reinterpret_cast<const char*>(&length), sizeof(length));
  file_.stream().write(header.data(), static_cast<std::streamsize>(header.size()));
}

void SafetensorsWriter::append(const at::Tensor& tensor) {
  TTT_CHECK(next_ < tensors_.size(), internal, "more tensors are written than announced");
  const TensorInfo& info = tensors_[next_++];
  TTT_CHECK(tensor.scalar_type() == scalar_type(info.dtype) && tensor.sizes() == info.shape,
            internal, "a tensor differs from its announcement", info.name);
  const at::Tensor values = tensor.cpu().contiguous();
  file_.stream().write(static_cast<const char*>(values.const_data_ptr()),
                       static_cast<std::streamsize>(info.bytes));
}

void SafetensorsWriter::finish() {
  TTT_CHECK(next_ == tensors_.size(), internal, "fewer tensors are written than announced");
  file_.commit();
}

void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<TensorInfo> infos;
  std::unordered_map<std::string, const at::Tensor*> by_name;
  for (const NamedTensor& item : tensors) {
    const std::optional<DType> dtype = dtype_of(item.tensor.scalar_type());
    TTT_CHECK(dtype.has_value(), output,
              std::string("safetensors files can't hold the type ") +
                  c10::toString(item.tensor.scalar_type()),
              printable(item.name), "convert the tensor to a real type");
    infos.push_back({item.name, *dtype, item.tensor.sizes().vec(), 0});
    by_name[item.name] = &item.tensor;
  }
  SafetensorsWriter writer(path, std::move(infos), metadata);
  for (const TensorInfo& info : writer.tensors()) writer.append(*by_name.at(info.name));
  writer.finish();
}

}  // namespace ttt
