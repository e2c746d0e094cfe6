// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/render/options.h"
#include "core/device.h"
#include "nvs/model/renderer.h"
#include "nvs/training/perceptual_loss.h"

#include <nlohmann/json.hpp>

#include <future>
#include <memory>
#include <optional>
#include <string>

namespace ttt::cli {

/// A loaded model with everything that was decided for the run.
struct RenderSetup {
  nvs::LvsmConfig config;
  nvs::RendererOptions run;
  std::optional<nvs::LvsmRenderer> renderer;  ///< none in a dry run with random weights
  std::string weights;                        ///< path, empty for random ones
  std::string weights_key;
  std::string config_origin;
  DeviceChoice device;
  std::uint64_t seed = 0;
  std::string trained_mode;  ///< "object", "scene", or empty where nothing tells
  PixelSize size;            ///< of the input views
  PixelSize render_size;     ///< of rendered pictures
  std::shared_ptr<const nvs::PerceptualLoss> perceptual;  ///< null without --lpips-weights
  /// Identity of the weights: SHA-256 of the file, computed beside other work, or "random <seed>".
  std::shared_future<std::string> weights_hash;
};

/// Applies the options that concern LibTorch, chooses the device and loads the model.
RenderSetup set_up(const RenderOptions& options);

/// Whether the model is the shipped one, as nothing else was asked for.
bool uses_shipped_weights(const RenderOptions& options);

/// Model, weights, sizes, device and the like, for summaries and run records.
nlohmann::ordered_json describe(const RenderSetup& setup, const RenderOptions& options);
/// Tells on the log what will be used.
void announce(const RenderSetup& setup, const RenderOptions& options);

}  // namespace ttt::cli
