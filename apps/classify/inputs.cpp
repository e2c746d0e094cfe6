// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/classify/inputs.h"

#include "core/error.h"
#include "core/log.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

namespace ttt::cli {
namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Keeps every N-th item of "I/N".
void take_shard(InputSet& inputs, const std::string& shard) {
  if (shard.empty()) return;
  const std::size_t slash = shard.find('/');
  const auto index = whole_number(std::string_view(shard).substr(0, slash));
  const auto count = slash == std::string::npos
                         ? std::nullopt
                         : whole_number(std::string_view(shard).substr(slash + 1));
  TTT_CHECK(index && count && *count >= 1 && *index >= 0 && *index < *count, usage,
            fmt::format("\"{}\" is not a shard", printable(shard, 40)), "--shard",
            "give I/N with I from 0 to N-1, such as 0/4 for the first of four");
  std::vector<InputItem> kept;
  for (auto i = static_cast<std::size_t>(*index); i < inputs.items.size();
       i += static_cast<std::size_t>(*count))
    kept.push_back(std::move(inputs.items[i]));
  log_info("shard {}: {} of {} pictures", shard, kept.size(), inputs.items.size());
  inputs.items = std::move(kept);
}

/// Class index of each label; empty when they don't all have one.
std::map<std::string, std::int64_t> class_indices(const InputSet& inputs,
                                                  const vision::LabelSet& labels,
                                                  std::int64_t classes) {
  if (!inputs.labels_are_indices)
    return vision::match_class_folders(inputs.class_names, labels, classes);
  std::map<std::string, std::int64_t> indices;
  for (const std::string& name : inputs.class_names) {
    const std::optional<std::int64_t> index = whole_number(name);
    if (!index || *index < 0 || *index >= classes) return {};
    indices[name] = *index;
  }
  return indices;
}

}  // namespace

InputSet gather_inputs(const ClassifyOptions& options) {
  InputOptions request{.arguments = options.input, .split = options.split};
  for (const std::string& list : options.list)
    (list == "-" ? request.arguments : request.lists).push_back(list);
  TTT_CHECK(!request.arguments.empty() || !request.lists.empty(), usage, "no input is given",
            "ttt classify", "give pictures, folders or lists; `ttt classify --help` explains");
  InputSet inputs = expand_inputs(request);
  if (!inputs.split.empty())
    log_info("split: {} (--split chooses another)", printable(inputs.split));
  take_shard(inputs, options.shard);
  return inputs;
}

std::vector<std::optional<Target>> match_targets(const InputSet& inputs,
                                                 const vision::LabelSet& labels,
                                                 std::int64_t classes) {
  if (inputs.label_source == LabelSource::none || inputs.class_names.empty()) return {};
  const std::map<std::string, std::int64_t> indices = class_indices(inputs, labels, classes);
  if (indices.empty()) {
    const std::string line =
        fmt::format("no accuracy: the labels of the pictures ({}, …) are not the model's classes",
                    printable(inputs.class_names.front(), 40));
    // Folders are often just folders; a table of labels was meant.
    log(inputs.label_source == LabelSource::table ? LogLevel::warning : LogLevel::info, line);
    return {};
  }
  std::vector<std::optional<Target>> targets;
  for (const InputItem& item : inputs.items) {
    const auto found = indices.find(item.class_name);
    targets.push_back(found == indices.end()
                          ? std::nullopt
                          : std::optional<Target>({found->second, labels.name(found->second)}));
  }
  return targets;
}

InputItem file_item(const std::string& path) {
  return {path, {}, [path] {
            std::error_code error;
            const bool regular = std::filesystem::is_regular_file(path, error);
            std::ifstream file(path, std::ios::binary);
            TTT_CHECK(regular && file.is_open(), input, "can't read the file", printable(path),
                      "check the path and its permissions");
            std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
            TTT_CHECK(!file.bad(), input, "reading failed", printable(path), "check the disk");
            return bytes;
          }};
}

}  // namespace ttt::cli
