// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/weights_metadata.h"

#include "core/error.h"

#include <nlohmann/json.hpp>

namespace ttt::vision {
namespace {

using nlohmann::json;

constexpr const char* kPreprocessKey = "ttt.preprocess";
constexpr const char* kLabelsKey = "ttt.labels";
constexpr int kLargestSize = 65536;

Error malformed(const char* key, const std::string& file, const std::string& what) {
  return Error(ErrorKind::weights,
               "the metadata \"" + std::string(key) + "\" is malformed: " + what, printable(file),
               "write the file again with ttt");
}

}  // namespace

std::optional<PreprocessOptions> read_preprocess_metadata(const Metadata& metadata,
                                                          const std::string& file) {
  const auto found = metadata.find(kPreprocessKey);
  if (found == metadata.end()) return std::nullopt;
  PreprocessOptions options;
  try {
    const json document = json::parse(found->second);
    options.width = document.at("width").get<int>();
    options.height = document.at("height").get<int>();
    options.crop_percent = document.at("crop_pct").get<double>();
    const auto rule = document.at("resize").get<std::string>();
    if (rule != "cover" && rule != "squash")
      throw malformed(kPreprocessKey, file, "resize is neither cover nor squash");
    options.rule = rule == "cover" ? ResizeRule::cover : ResizeRule::squash;
    options.mean = document.at("mean").get<std::array<float, 3>>();
    options.std = document.at("std").get<std::array<float, 3>>();
  } catch (const json::exception& error) {
    throw malformed(kPreprocessKey, file, printable(error.what()));
  }
  const bool in_range = options.width > 0 && options.width <= kLargestSize && options.height > 0 &&
                        options.height <= kLargestSize && options.crop_percent > 0 &&
                        options.crop_percent <= 1 && options.std[0] > 0 && options.std[1] > 0 &&
                        options.std[2] > 0;
  if (!in_range) throw malformed(kPreprocessKey, file, "a value is out of range");
  return options;
}

std::vector<std::string> read_label_metadata(const Metadata& metadata, const std::string& file) {
  const auto found = metadata.find(kLabelsKey);
  if (found == metadata.end()) return {};
  try {
    return json::parse(found->second).get<std::vector<std::string>>();
  } catch (const json::exception& error) {
    throw malformed(kLabelsKey, file, printable(error.what()));
  }
}

void write_preprocess_metadata(Metadata& metadata, const PreprocessOptions& options) {
  metadata[kPreprocessKey] = json{
      {"width", options.width},
      {"height", options.height},
      {"crop_pct", options.crop_percent},
      {"resize", options.rule == ResizeRule::cover ? "cover" : "squash"},
      {"mean", options.mean},
      {"std", options.std}}.dump();
}

void write_label_metadata(Metadata& metadata, const std::vector<std::string>& labels) {
  metadata[kLabelsKey] = json(labels).dump();
}

}  // namespace ttt::vision
