// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/model_catalog.h"

#include "core/error.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>

namespace ttt::vision {
namespace {

constexpr std::string_view kVit3 = "vit3";
constexpr std::string_view kHVit3 = "hvit3";

const std::array<ModelPreset, 6>& presets() {
  // Parameters, multiply-adds and top-1 are those of the official README (ImageNet-1k, 224²).
  static const std::array<ModelPreset, 6> all{{
      {"vit3_t",
       "vittt_tiny",
       "6 M parameters, 1.2 G multiply-adds, top-1 76.5 %",
       {Vit3Config{.dim = 192, .depth = 12, .heads = 6}}},
      {"vit3_s",
       "vittt_small",
       "24 M parameters, 4.8 G multiply-adds, top-1 81.6 %",
       {Vit3Config{.dim = 384, .depth = 12, .heads = 6}}},
      {"vit3_b",
       "vittt_base",
       "90 M parameters, 18.0 G multiply-adds, top-1 82.6 %",
       {Vit3Config{.dim = 768, .depth = 12, .heads = 12}}},
      {"hvit3_t",
       "h_vittt_tiny",
       "29 M parameters, 4.9 G multiply-adds, top-1 84.0 %",
       {HVit3Config{}}},
      {"hvit3_s",
       "h_vittt_small",
       "54 M parameters, 8.8 G multiply-adds, top-1 84.9 %",
       {HVit3Config{.depths = {2, 6, 18, 8}}}},
      {"hvit3_b",
       "h_vittt_base",
       "94 M parameters, 16.7 G multiply-adds, top-1 85.5 %",
       {HVit3Config{
           .dims = {96, 192, 448, 640}, .depths = {2, 6, 18, 8}, .heads = {3, 6, 14, 20}}}},
  }};
  return all;
}

/// Shapes by name, with the questions that recognition asks.
class ShapeIndex {
 public:
  explicit ShapeIndex(std::span<const TensorInfo> tensors) {
    for (const TensorInfo& tensor : tensors) shapes_.emplace(tensor.name, &tensor.shape);
  }

  /// Size of one axis of a tensor of the given rank, 0 when there is no such tensor.
  std::int64_t size(const std::string& name, std::size_t rank, std::size_t axis) const {
    const auto found = shapes_.find(name);
    if (found == shapes_.end() || found->second->size() != rank) return 0;
    return (*found->second)[axis];
  }

  /// One more than the largest number that follows `prefix` in a name.
  std::int64_t count(const std::string& prefix) const {
    std::int64_t count = 0;
    for (const auto& [name, shape] : shapes_) {
      if (!name.starts_with(prefix)) continue;
      std::int64_t index = -1;
      std::from_chars(name.data() + prefix.size(), name.data() + name.size(), index);
      if (index < kMaxBlocks) count = std::max(count, index + 1);
    }
    return count;
  }

  /// The first nonzero size of `suffix` over the blocks below `prefix`.
  std::int64_t block_size(const std::string& prefix, const std::string& suffix, std::size_t rank,
                          std::size_t axis) const {
    const std::int64_t blocks = count(prefix);
    for (std::int64_t i = 0; i < blocks; ++i)
      if (const auto found = size(prefix + std::to_string(i) + suffix, rank, axis); found > 0)
        return found;
    return 0;
  }

  bool contains(const std::string& name) const { return shapes_.contains(name); }

  /// MLP width over model width, 0 when unknown.
  std::int64_t mlp_ratio(const std::string& prefix) const {
    const auto hidden = block_size(prefix, ".mlp.fc1.weight", 2, 0);
    const auto dim = block_size(prefix, ".mlp.fc1.weight", 2, 1);
    return dim > 0 ? hidden / dim : 0;
  }

 private:
  static constexpr std::int64_t kMaxBlocks = 1000;
  std::unordered_map<std::string, const std::vector<std::int64_t>*> shapes_;
};

/// Heads of a stage: from the shape of w1, else (convolutions have none) from the metadata.
std::int64_t heads_of(const ShapeIndex& shapes, const std::string& blocks,
                      const std::optional<StoredInner>& inner, std::size_t stage) {
  const std::int64_t heads = shapes.block_size(blocks, ".attn.w1", 4, 1);
  if (heads > 0 || !inner || stage >= inner->heads.size()) return heads;
  return inner->heads[stage];
}

std::optional<ModelSpec> recognize_vit3(const ShapeIndex& shapes,
                                        const std::optional<StoredInner>& inner) {
  Vit3Config config;
  const std::string blocks = "blocks.";
  config.depth = shapes.count(blocks);
  config.dim = shapes.block_size(blocks, ".norm1.weight", 1, 0);
  config.heads = heads_of(shapes, blocks, inner, 0);
  if (inner) config.inner = inner->config;
  config.mlp_ratio = shapes.mlp_ratio(blocks);
  config.patch = shapes.size("patch_embed.proj.weight", 4, 2);
  config.classes = shapes.size("head.weight", 2, 0);
  // DiT3 shares all of this but the head and the image channels.
  if (config.depth == 0 || config.dim == 0 || config.heads == 0 || config.mlp_ratio == 0 ||
      config.patch == 0 || config.classes == 0)
    return std::nullopt;
  return ModelSpec{config};
}

std::optional<ModelSpec> recognize_hvit3(const ShapeIndex& shapes,
                                         const std::optional<StoredInner>& inner) {
  HVit3Config config;
  if (inner) config.inner = inner->config;
  for (std::size_t i = 0; i < kStages; ++i) {
    const std::string blocks = fmt::format("layers.{}.blocks.", i);
    config.depths[i] = shapes.count(blocks);
    config.dims[i] = shapes.block_size(blocks, ".norm1.weight", 1, 0);
    config.heads[i] = heads_of(shapes, blocks, inner, i);
    config.mlp_ratio = shapes.mlp_ratio(blocks);
    if (config.depths[i] == 0 || config.dims[i] == 0 || config.heads[i] == 0 ||
        config.mlp_ratio == 0)
      return std::nullopt;
  }
  config.classes = shapes.size("head.weight", 2, 0);
  if (config.classes == 0) return std::nullopt;
  return ModelSpec{config};
}

/// The image generator has ViT3's blocks, a table of labels instead of a head, and latent pictures.
std::string describe_dit3(const ShapeIndex& shapes) {
  const std::string blocks = "blocks.";
  const std::int64_t labels = shapes.size("y_embedder.embedding_table.weight", 2, 0);
  const std::int64_t dim = shapes.size("y_embedder.embedding_table.weight", 2, 1);
  if (labels == 0 || dim == 0) return {};
  // One row of the table stands for "no label".
  return fmt::format("dit3 (dim {}, depth {}, heads {}, patch {}, {} classes)", dim,
                     shapes.count(blocks), shapes.block_size(blocks, ".attn.w1", 4, 1),
                     shapes.size("x_embedder.proj.weight", 4, 2), labels - 1);
}

std::string inner_suffix(const InnerConfig& inner) {
  return inner.is_published() ? "" : "; inner model " + describe(inner);
}

std::string describe(const Vit3Config& c) {
  return fmt::format("vit3 (dim {}, depth {}, heads {}, patch {}, {} classes{})", c.dim, c.depth,
                     c.heads, c.patch, c.classes, inner_suffix(c.inner));
}

std::string describe(const HVit3Config& c) {
  return fmt::format("hvit3 (dims {}, depths {}, heads {}, {} classes{})", fmt::join(c.dims, ","),
                     fmt::join(c.depths, ","), fmt::join(c.heads, ","), c.classes,
                     inner_suffix(c.inner));
}

/// "ttt.inner" of a file.
std::optional<StoredInner> stored_inner(const WeightContents& contents) {
  const auto found = contents.metadata.find(kInnerKey);
  if (found == contents.metadata.end()) return std::nullopt;
  return read_inner_metadata(found->second, contents.file);
}

/// What is recognised must be buildable: the metadata could give any number of heads.
void check_heads(const ModelSpec& spec, const std::optional<StoredInner>& inner,
                 const std::string& file) {
  if (!inner) return;
  std::vector<std::int64_t> dims, heads;
  if (const auto* vit3 = std::get_if<Vit3Config>(&spec.config)) {
    dims = {vit3->dim};
    heads = {vit3->heads};
  } else {
    const auto& config = std::get<HVit3Config>(spec.config);
    dims.assign(config.dims.begin(), config.dims.end());
    heads.assign(config.heads.begin(), config.heads.end());
  }
  TTT_CHECK(heads == inner->heads, weights,
            fmt::format("the metadata \"{}\" speaks of {} heads, the tensors of {}", kInnerKey,
                        fmt::join(inner->heads, ","), fmt::join(heads, ",")),
            printable(file), "write the file again with ttt");
  for (std::size_t i = 0; i < dims.size(); ++i)
    TTT_CHECK(
        dims[i] % heads[i] == 0, weights,
        fmt::format("the metadata \"{}\" speaks of {} heads, which {} channels can't be split "
                    "into",
                    kInnerKey, heads[i], dims[i]),
        printable(file), "write the file again with ttt");
}

}  // namespace

std::string_view ModelSpec::family() const {
  return std::holds_alternative<Vit3Config>(config) ? kVit3 : kHVit3;
}

std::string ModelSpec::name() const {
  for (const ModelPreset& preset : presets()) {
    ModelSpec other = preset.spec;
    other.set_classes(classes());  // A fine-tuned head doesn't make another model.
    if (other.config == config) return std::string(preset.name);
  }
  return std::visit([](const auto& c) { return describe(c); }, config);
}

std::int64_t ModelSpec::classes() const {
  return std::visit([](const auto& c) { return c.classes; }, config);
}

void ModelSpec::set_classes(std::int64_t classes) {
  std::visit([&](auto& c) { c.classes = classes; }, config);
}

const InnerConfig& ModelSpec::inner() const {
  return std::visit([](const auto& c) -> const InnerConfig& { return c.inner; }, config);
}

void ModelSpec::set_inner(const InnerConfig& inner) {
  std::visit([&](auto& c) { c.inner = inner; }, config);
}

Metadata ModelSpec::metadata() const {
  if (inner().is_published()) return {};
  StoredInner stored{inner(), {}};
  if (const auto* vit3 = std::get_if<Vit3Config>(&config)) {
    stored.heads = {vit3->heads};
  } else {
    const auto& heads = std::get<HVit3Config>(config).heads;
    stored.heads.assign(heads.begin(), heads.end());
  }
  return {{kInnerKey, inner_metadata(stored)}};
}

std::shared_ptr<ClassificationModel> ModelSpec::build() const {
  if (const auto* vit3 = std::get_if<Vit3Config>(&config)) return make_vit3(*vit3);
  return make_hvit3(std::get<HVit3Config>(config));
}

std::span<const ModelPreset> model_presets() {
  return presets();
}

const ModelPreset& find_preset(std::string_view name) {
  std::string names;
  for (const ModelPreset& preset : presets()) {
    if (preset.name == name || preset.official_name == name) return preset;
    names += (names.empty() ? "" : ", ") + std::string(preset.name);
  }
  throw Error(ErrorKind::usage, "unknown model \"" + printable(name) + "\"", "--model",
              "use one of " + names);
}

std::optional<ModelSpec> recognize_model(const WeightContents& contents) {
  const ShapeIndex shapes(contents.tensors);
  const std::optional<StoredInner> inner = stored_inner(contents);
  std::optional<ModelSpec> spec = recognize_vit3(shapes, inner);
  if (!spec) spec = recognize_hvit3(shapes, inner);
  if (spec) check_heads(*spec, inner, contents.file);
  return spec;
}

std::string describe_weights(const WeightContents& contents) {
  if (const auto spec = recognize_model(contents)) return spec->name();
  const ShapeIndex shapes(contents.tensors);
  if (std::string dit3 = describe_dit3(shapes); !dit3.empty()) return dit3;
  if (shapes.contains("roi_head.mask_head.conv_logits.weight")) return "mask_rcnn";
  if (shapes.contains("decode_head.conv_seg.weight")) return "upernet";
  if (shapes.contains("decoder.conv_in.weight")) return "vae";
  return {};
}

std::vector<std::string> ignored_tensors() {
  return {"*rope.rotations"};
}

}  // namespace ttt::vision
