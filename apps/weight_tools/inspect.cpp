// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/weight_tools/inspect.h"

#include "core/error.h"

#include <nlohmann/json.hpp>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>
#include <ostream>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;

std::uint64_t total_elements(const WeightFile& file) {
  std::uint64_t total = 0;
  for (const TensorInfo& info : file.tensors()) total += element_count(info);
  return total;
}

std::uint64_t total_bytes(const WeightFile& file) {
  std::uint64_t total = 0;
  for (const TensorInfo& info : file.tensors()) total += info.bytes;
  return total;
}

/// "1234 B", "5.4 KiB", "23.5 MiB".
std::string size_text(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  const double kib = static_cast<double>(bytes) / 1024;
  return kib < 1024 ? fmt::format("{:.1f} KiB", kib) : fmt::format("{:.1f} MiB", kib / 1024);
}

void print_json(const WeightFile& file, const std::string& model, std::ostream& output) {
  Json tensors = Json::array();
  for (const TensorInfo& info : file.tensors())
    tensors.push_back({{"name", info.name},
                       {"shape", info.shape},
                       {"dtype", to_string(info.dtype)},
                       {"bytes", info.bytes}});
  const Json document{{"schema", 1},
                      {"file", file.path().string()},
                      {"container", file.container()},
                      {"model", model.empty() ? Json(nullptr) : Json(model)},
                      {"bytes", file.file_size()},
                      {"sha256", file.content_hash()},
                      {"weights_key", file.weights_key()},
                      {"available_keys", file.available_keys()},
                      {"metadata", file.metadata()},
                      {"skipped", file.skipped()},
                      {"parameters", total_elements(file)},
                      {"tensors", std::move(tensors)}};
  // Names in pickles and paths may be any bytes; JSON is UTF-8.
  output << document.dump(-1, ' ', false, Json::error_handler_t::replace) << "\n";
}

std::string shown_key(const std::string& key) {
  return key.empty() ? "the whole file" : "\"" + printable(key) + "\"";
}

void print_head(const WeightFile& file, const std::string& model, std::ostream& output) {
  const auto line = [&](const char* title, const std::string& value) {
    output << fmt::format("{:<12}{}\n", title, value);
  };
  line("file", printable(file.path().string()));
  line("container", file.container());
  line("size", fmt::format("{} ({} bytes)", size_text(file.file_size()), file.file_size()));
  line("sha256", file.content_hash());
  line("model", model.empty() ? "not recognised" : printable(model));
  if (!file.available_keys().empty()) {
    line("dictionary", shown_key(file.weights_key()));
    for (const std::string& key : file.available_keys())
      if (key != file.weights_key()) line("  also has", shown_key(key));
  }
  for (const auto& [key, value] : file.metadata())
    line("metadata", printable(key, 60) + ": " + printable(value, 200));
  constexpr std::size_t kShown = 20;
  for (std::size_t i = 0; i < std::min(file.skipped().size(), kShown); ++i)
    line("skipped", printable(file.skipped()[i]));
  if (file.skipped().size() > kShown)
    line("", fmt::format("… and {} more", file.skipped().size() - kShown));
  std::map<std::string_view, std::size_t> types;
  for (const TensorInfo& info : file.tensors()) ++types[to_string(info.dtype)];
  std::string type_list;
  for (const auto& [type, count] : types)
    type_list += fmt::format("{}{} {}", type_list.empty() ? "" : ", ", count, type);
  line("tensors", fmt::format("{} ({})", file.tensors().size(), type_list));
  line("parameters", fmt::format("{} in {}", total_elements(file), size_text(total_bytes(file))));
}

void print_text(const WeightFile& file, const std::string& model, std::ostream& output) {
  print_head(file, model, output);
  std::size_t name_width = 4;
  std::size_t shape_width = 5;
  for (const TensorInfo& info : file.tensors()) {
    name_width = std::max(name_width, std::min<std::size_t>(printable(info.name).size(), 80));
    shape_width = std::max(shape_width, std::min<std::size_t>(shape_text(info.shape).size(), 40));
  }
  if (!file.tensors().empty())
    output << fmt::format("\n{:<{}}  {:<13}  {:<{}}  {:>10}\n", "name", name_width, "dtype",
                          "shape", shape_width, "bytes");
  for (const TensorInfo& info : file.tensors())
    output << fmt::format("{:<{}}  {:<13}  {:<{}}  {:>10}\n", printable(info.name), name_width,
                          to_string(info.dtype), shape_text(info.shape), shape_width, info.bytes);
}

}  // namespace

void run_inspect(const InspectOptions& options, std::ostream& output) {
  const WeightFile file = WeightFile::open(options.path, {options.weights_key});
  const std::string model = options.recognise ? options.recognise(file) : "";
  if (options.format == InspectFormat::json)
    print_json(file, model, output);
  else
    print_text(file, model, output);
}

}  // namespace ttt::cli
