// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// The official yaml schema.
#include "core/error.h"
#include "core/inputs/read_file.h"
#include "nvs/model/config.h"

#include <spdlog/fmt/fmt.h>
#include <yaml-cpp/yaml.h>

#include <set>

namespace ttt::nvs {
namespace {

constexpr const char* kAttention = "model.SelfAttention";
constexpr const char* kFastWeights = "lact_ttt.FastWeightGluMLPMultihead";
constexpr const char* kMlp = "model.MLP";
constexpr std::size_t kMaxFile = 1 << 20;

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(printable(path)) {}

  LvsmConfig read(const YAML::Node& root) const {
    only_keys(root, {"patch_size", "dim", "layers", "block_config"});
    LvsmConfig config;
    config.patch_size = required<std::int64_t>(root, "patch_size");
    config.dim = required<std::int64_t>(root, "dim");
    config.layers = required<std::int64_t>(root, "layers");
    const YAML::Node blocks = root["block_config"];
    if (!blocks || !blocks.IsSequence()) fail(root, "block_config is missing or no list");
    if (blocks.size() > 64) fail(blocks, "block_config has more than 64 entries");
    for (const YAML::Node& entry : blocks) config.block.push_back(sub_layer(entry));
    return config;
  }

  [[noreturn]] void fail(const YAML::Node& node, const std::string& what) const {
    fail_at(node.Mark(), what);
  }
  [[noreturn]] void fail_at(const YAML::Mark& mark, const std::string& what) const {
    throw Error(ErrorKind::usage, what,
                mark.line >= 0 ? fmt::format("{}:{}", path_, mark.line + 1) : path_,
                "give a configuration in the schema of the official ones");
  }

 private:
  LvsmSubLayer sub_layer(const YAML::Node& entry) const {
    only_keys(entry, {"type", "length_dim", "params"});
    const auto type = required<std::string>(entry, "type");
    const auto length = optional<std::string>(entry, "length_dim", "vl");
    if (length != "l" && length != "vl")
      fail(entry, fmt::format("length_dim is \"{}\", not l or vl", printable(length)));
    const YAML::Node params = entry["params"] ? entry["params"] : YAML::Node(YAML::NodeType::Map);
    LvsmSubLayer sub;
    if (type == kAttention) {
      if (length != "l")
        fail(entry, "attention over all views at once is not supported: length_dim must be l");
      only_keys(params, {"head_dim", "use_qk_norm", "causal", "bias"});
      sub.kind = SubLayerKind::attention;
      sub.head_dim = required<std::int64_t>(params, "head_dim");
      sub.use_qk_norm = optional(params, "use_qk_norm", true);
    } else if (type == kFastWeights) {
      if (length != "vl")
        fail(entry, "fast weights within one view are not supported: length_dim must be vl");
      only_keys(params, {"head_dim", "inter_multi", "base_lr", "muon_update_steps", "bias"});
      sub.kind = SubLayerKind::fast_weights;
      sub.head_dim = required<std::int64_t>(params, "head_dim");
      sub.inter_multi = optional(params, "inter_multi", 1.0);
      sub.base_lr = optional(params, "base_lr", 0.01);
      sub.newton_schulz_steps = optional<std::int64_t>(params, "muon_update_steps", 0);
    } else if (type == kMlp) {
      only_keys(params, {"inter_multi", "bias"});
      sub.kind = SubLayerKind::mlp;
      sub.inter_multi = optional(params, "inter_multi", 4.0);
    } else {
      fail(entry, fmt::format("unknown type \"{}\"; known are {}, {} and {}", printable(type),
                              kAttention, kFastWeights, kMlp));
    }
    for (const char* key : {"bias", "causal"})
      if (optional(params, key, false)) fail(params, fmt::format("{}: true is not supported", key));
    return sub;
  }

  void only_keys(const YAML::Node& map, const std::set<std::string>& known) const {
    if (!map.IsMap()) fail(map, "a map of keys and values is needed");
    std::set<std::string> seen;
    for (const auto& item : map) {
      const auto key = item.first.as<std::string>("");
      if (!known.contains(key))
        fail(item.first, fmt::format("unknown key \"{}\"", printable(key, 80)));
      if (!seen.insert(key).second) fail(item.first, fmt::format("{} is given twice", key));
    }
  }

  template <typename T>
  T required(const YAML::Node& map, const char* key) const {
    const YAML::Node node = map[key];
    if (!node) fail(map, fmt::format("{} is missing", key));
    return value<T>(node, key);
  }

  template <typename T>
  T optional(const YAML::Node& map, const char* key, T standard) const {
    const YAML::Node node = map[key];
    return node ? value<T>(node, key) : standard;
  }

  template <typename T>
  T value(const YAML::Node& node, const char* key) const {
    try {
      return node.as<T>();
    } catch (const YAML::Exception&) {
      fail(node, fmt::format("{} has no value of the right kind", key));
    }
  }

  std::string path_;
};

}  // namespace

LvsmConfig read_lvsm_config(const std::string& path) {
  const Reader reader(path);
  LvsmConfig config;
  try {
    const std::vector<std::uint8_t> bytes = inputs::read_file(path);
    const std::string text(bytes.begin(), bytes.end());
    TTT_CHECK(text.size() <= kMaxFile, usage, "the file is too large for a configuration",
              printable(path), "give a yaml file such as lact_l24_d768_ttt2x.yaml");
    config = reader.read(YAML::Load(text));
  } catch (const YAML::Exception& error) {
    reader.fail_at(error.mark, "this is no valid yaml: " + printable(error.msg));
  }
  check_config(config, printable(path));
  return config;
}

}  // namespace ttt::nvs
