// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/design_space/config.h"

#include "core/error.h"
#include "core/nearest.h"

#include <nlohmann/json.hpp>
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace ttt::vision {
namespace {

using Json = nlohmann::ordered_json;
using Names = std::vector<std::string>;

constexpr std::int64_t kLargestHeads = 65536;
constexpr const char* kWriteAgain = "write the file again with ttt";

template <typename Enum>
Enum parse_name(const std::string& text, const Names& names, const std::string& where) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found != names.end()) return static_cast<Enum>(found - names.begin());
  const std::string nearest = nearest_name(text, names);
  throw Error(ErrorKind::usage, fmt::format("unknown value \"{}\"", printable(text, 80)), where,
              (nearest.empty() ? "" : fmt::format("did you mean {}? ", nearest)) +
                  fmt::format("allowed: {}", fmt::join(names, ", ")));
}

std::int64_t parse_batches(const std::string& text) {
  if (text == "full" || text == "N") return 1;
  std::int64_t batches = 0;
  if (text.starts_with("N/")) {
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + 2, end, batches);
    if (error != std::errc{} || rest != end) batches = 0;
  }
  TTT_CHECK(batches >= 1 && batches <= kLargestInnerBatches, usage,
            fmt::format("unknown value \"{}\"", printable(text, 80)), "inner.batch",
            fmt::format("use full, or N/2, N/3, … up to N/{} for that many mini-batches",
                        kLargestInnerBatches));
  return batches;
}

void check_range(double value, double low, double high, const std::string& where) {
  TTT_CHECK(value >= low && value <= high, usage, fmt::format("{} is out of range", value), where,
            fmt::format("use a value from {} to {}", low, high));
}

bool has_hidden_layer(InnerModelKind model) {
  return model == InnerModelKind::mlp2 || model == InnerModelKind::mlp3 ||
         model == InnerModelKind::swiglu;
}

Error malformed(const std::string& what, const std::string& file, const std::string& hint) {
  return Error(ErrorKind::weights,
               fmt::format("the metadata \"{}\" is malformed: {}", kInnerKey, what),
               printable(file), hint);
}

Json to_json(const InnerSettings& s) {
  return {{"model", s.model},   {"width", s.width}, {"loss", s.loss},       {"batch", s.batch},
          {"epochs", s.epochs}, {"lr", s.lr},       {"lr_rule", s.lr_rule}, {"clip", s.clip}};
}

/// A whole number in range. nlohmann's own conversion would wrap around or, for numbers with a
/// fraction, be undefined.
std::int64_t whole_number(const Json& value, std::int64_t highest, const char* name,
                          const std::string& file) {
  if (!value.is_number_integer() || value < 1 || value > highest)
    throw malformed(fmt::format("{} is not a whole number from 1 to {}", name, highest), file,
                    kWriteAgain);
  return value.get<std::int64_t>();
}

InnerSettings from_json(const Json& document, const std::string& file) {
  const auto text = [&](const char* name) { return document.at(name).get<std::string>(); };
  const auto number = [&](const char* name, std::int64_t highest) {
    return whole_number(document.at(name), highest, name, file);
  };
  if (!document.at("lr").is_number()) throw malformed("lr is not a number", file, kWriteAgain);
  return {text("model"),
          number("width", kLargestInnerWidth),
          text("loss"),
          text("batch"),
          number("epochs", kLargestInnerEpochs),
          document.at("lr").get<double>(),
          text("lr_rule"),
          text("clip")};
}

void check_keys(const Json& document, const std::string& file) {
  Names known{"heads"};
  const Json standard = to_json({});
  for (const auto& [key, value] : standard.items()) known.push_back(key);
  for (const auto& [key, value] : document.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::string nearest = nearest_name(key, known);
    throw malformed(fmt::format("unknown setting \"{}\"", printable(key, 80)), file,
                    nearest.empty() ? "a newer version of ttt may know it"
                                    : fmt::format("did you mean {}?", nearest));
  }
}

}  // namespace

const Names& inner_model_names() {
  static const Names names{"vit3",   "linear",       "silu_linear", "mlp2",     "mlp3",
                           "swiglu", "gated_linear", "conv",        "depthwise"};
  return names;
}

const Names& inner_loss_names() {
  static const Names names{"dot", "mse", "rmse", "mae", "smooth_l1"};
  return names;
}

const Names& inner_rate_rule_names() {
  static const Names names{"fixed", "dynamic"};
  return names;
}

const Names& inner_clip_names() {
  static const Names names{"column", "none"};
  return names;
}

std::string_view name_of(InnerModelKind model) {
  return inner_model_names()[static_cast<std::size_t>(model)];
}

std::string_view name_of(InnerLoss loss) {
  return inner_loss_names()[static_cast<std::size_t>(loss)];
}

InnerConfig parse_inner(const InnerSettings& settings) {
  InnerConfig config;
  config.model = parse_name<InnerModelKind>(settings.model, inner_model_names(), "inner.model");
  config.loss = parse_name<InnerLoss>(settings.loss, inner_loss_names(), "inner.loss");
  config.rate_rule =
      parse_name<InnerRateRule>(settings.lr_rule, inner_rate_rule_names(), "inner.lr_rule");
  config.clip = parse_name<InnerClip>(settings.clip, inner_clip_names(), "inner.clip");
  config.batches = parse_batches(settings.batch);
  check_range(static_cast<double>(settings.width), 1, kLargestInnerWidth, "inner.width");
  check_range(static_cast<double>(settings.epochs), 1, kLargestInnerEpochs, "inner.epochs");
  check_range(settings.lr, 0, kLargestInnerRate, "inner.lr");
  TTT_CHECK(settings.width == 1 || has_hidden_layer(config.model), usage,
            fmt::format("the inner model {} has no hidden layer that could be {} wide",
                        settings.model, settings.width),
            "inner.width", "set inner.width to 1, or inner.model to mlp2, mlp3 or swiglu");
  config.width = settings.width;
  config.epochs = settings.epochs;
  config.learning_rate = settings.lr;
  return config;
}

InnerSettings settings_of(const InnerConfig& config) {
  return {std::string(name_of(config.model)),
          config.width,
          std::string(name_of(config.loss)),
          config.batches == 1 ? "full" : fmt::format("N/{}", config.batches),
          config.epochs,
          config.learning_rate,
          inner_rate_rule_names()[static_cast<std::size_t>(config.rate_rule)],
          inner_clip_names()[static_cast<std::size_t>(config.clip)]};
}

std::string describe(const InnerConfig& config) {
  const Json settings = to_json(settings_of(config));
  const Json standard = to_json({});
  auto text = settings["model"].get<std::string>();
  for (const auto& [key, value] : settings.items())
    if (key != "model" && value != standard[key])
      text +=
          fmt::format(", {} {}", key, value.is_string() ? value.get<std::string>() : value.dump());
  return text;
}

std::string inner_metadata(const StoredInner& inner) {
  Json document = to_json(settings_of(inner.config));
  document["heads"] = inner.heads;
  return document.dump();
}

StoredInner read_inner_metadata(const std::string& text, const std::string& file) {
  StoredInner inner;
  try {
    const Json document = Json::parse(text);
    if (!document.is_object()) throw malformed("not an object", file, kWriteAgain);
    check_keys(document, file);
    inner.config = parse_inner(from_json(document, file));
    const Json& heads = document.at("heads");
    if (!heads.is_array()) throw malformed("heads is not a list", file, kWriteAgain);
    for (const Json& value : heads)
      inner.heads.push_back(whole_number(value, kLargestHeads, "heads", file));
  } catch (const nlohmann::json::exception& error) {
    throw malformed(printable(error.what()), file, kWriteAgain);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    throw malformed(error.what(), file, error.hint());
  }
  return inner;
}

}  // namespace ttt::vision
