// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/weights/weight_file.h"
#include "vision/hvit3.h"
#include "vision/vit3.h"
#include "vision/weights_metadata.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ttt::vision {

/// A classifier's architecture, complete enough to build it.
struct ModelSpec {
  std::variant<Vit3Config, HVit3Config> config;

  /// "vit3" or "hvit3".
  std::string_view family() const;
  /// The preset's name ("vit3_t") where the dimensions are a published model's, else the family
  /// with its dimensions.
  std::string name() const;
  std::int64_t classes() const;
  void set_classes(std::int64_t classes);
  const InnerConfig& inner() const;
  void set_inner(const InnerConfig& inner);
  /// What weight files must say beside their tensors ("ttt.inner"): nothing for published blocks.
  Metadata metadata() const;
  std::shared_ptr<ClassificationModel> build() const;
};

/// A published model.
struct ModelPreset {
  std::string_view name;           ///< "vit3_t"
  std::string_view official_name;  ///< "vittt_tiny"
  std::string_view summary;        ///< parameters, multiply-adds at 224², published top-1
  ModelSpec spec;
};

/// All published classifiers, smallest first in each family.
std::span<const ModelPreset> model_presets();

/// The preset of this name or official name. Throws Error(usage) that lists the names.
const ModelPreset& find_preset(std::string_view name);

/// The tensors of a weight file and what it says about them.
struct WeightContents {
  std::span<const TensorInfo> tensors;
  Metadata metadata = {};
  std::string file = {};  ///< for messages
};

/// The architecture that these weights belong to, told from names and shapes, and for TTT blocks
/// other than the published from the metadata; nothing when no ViT3 or H-ViT3 model has such
/// tensors. Works as long as one block of each stage is complete. Throws Error(weights) for
/// metadata that are malformed or speak of another model.
std::optional<ModelSpec> recognize_model(const WeightContents& contents);

/// A name for what these weights are, also where we can't run them as a classifier: a classifier's
/// ModelSpec::name(), "dit3 (…)" for image generation, "mask_rcnn", "upernet", "vae"; empty when
/// nothing fits. Throws as recognize_model. For messages and `ttt inspect`.
std::string describe_weights(const WeightContents& contents);

/// Tensor names of official files that carry nothing a model must load.
std::vector<std::string> ignored_tensors();

}  // namespace ttt::vision
