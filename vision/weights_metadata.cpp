// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/weights_metadata.h"

#include "core/error.h"

#include <nlohmann/json.hpp>

#include <array>

namespace ttt::vision {
namespace {

using nlohmann::json;

constexpr const char* kPreprocessKey = "ttt.preprocess";
constexpr const char* kLabelsKey = "ttt.labels";
constexpr int kLargestSize = 65536;
/// No mean or deviation of channels is near these, and both fit a float.
constexpr double kSmallestDeviation = 1e-6;
constexpr double kLargestStatistic = 1e6;

Error malformed(const char* key, const std::string& file, const std::string& what) {
  return Error(ErrorKind::weights,
               "the metadata \"" + std::string(key) + "\" is malformed: " + what, printable(file),
               "write the file again with ttt");
}

/// A whole number in range. nlohmann's own conversion to int would wrap around or, for numbers with
/// a fraction, be undefined.
int read_side(const json& document, const char* name, const std::string& file) {
  const json& value = document.at(name);
  if (!value.is_number_integer() || value < 1 || value > kLargestSize)
    throw malformed(kPreprocessKey, file, std::string(name) + " is not a number of pixels");
  return value.get<int>();
}

/// One number for each channel, in [smallest, kLargestStatistic].
std::array<float, 3> read_channels(const json& document, const char* name, double smallest,
                                   const std::string& file) {
  const json& list = document.at(name);
  if (!list.is_array() || list.size() != 3)
    throw malformed(kPreprocessKey, file, std::string(name) + " is not a list of three numbers");
  const auto values = list.get<std::array<double, 3>>();
  std::array<float, 3> channels{};
  for (std::size_t c = 0; c < channels.size(); ++c) {
    if (!(values[c] >= smallest && values[c] <= kLargestStatistic))
      throw malformed(kPreprocessKey, file, std::string(name) + " is out of range");
    channels[c] = static_cast<float>(values[c]);
  }
  return channels;
}

}  // namespace

std::optional<PreprocessOptions> read_preprocess_metadata(const Metadata& metadata,
                                                          const std::string& file) {
  const auto found = metadata.find(kPreprocessKey);
  if (found == metadata.end()) return std::nullopt;
  PreprocessOptions options;
  try {
    const json document = json::parse(found->second);
    options.width = read_side(document, "width", file);
    options.height = read_side(document, "height", file);
    options.crop_percent = document.at("crop_pct").get<double>();
    const auto rule = document.at("resize").get<std::string>();
    if (rule != "cover" && rule != "squash")
      throw malformed(kPreprocessKey, file, "resize is neither cover nor squash");
    options.rule = rule == "cover" ? ResizeRule::cover : ResizeRule::squash;
    options.mean = read_channels(document, "mean", -kLargestStatistic, file);
    options.std = read_channels(document, "std", kSmallestDeviation, file);
    if (!(options.crop_percent > 0 && options.crop_percent <= 1))
      throw malformed(kPreprocessKey, file, "crop_pct is not in (0, 1]");
  } catch (const json::exception& error) {
    throw malformed(kPreprocessKey, file, printable(error.what()));
  }
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
