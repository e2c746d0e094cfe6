// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/render/setup.h"

#include "apps/common/shared_options.h"
#include "apps/common/text.h"
#include "core/assets.h"
#include "core/error.h"
#include "core/log.h"
#include "core/seed.h"
#include "nvs/model/patches.h"

#include <ATen/Parallel.h>
#include <spdlog/fmt/fmt.h>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr PixelSize kPublishedSize{256, 256};
constexpr const char* kShippedWeights = "lvsm_procedural.safetensors";

std::shared_ptr<nvs::LvsmModel> random_model(const RenderOptions& options, RenderSetup& setup) {
  TTT_CHECK(options.weights.empty(), usage, "random weights and a weight file exclude each other",
            "--random-weights, --weights", "give one of them");
  TTT_CHECK(!options.model.empty() || !options.model_config.empty(), usage,
            "random weights need a model", "--random-weights",
            "add --model, for example --model lact_l14_d768_ttt2x, or --model-config FILE.yaml");
  TTT_CHECK(options.model.empty() || options.model_config.empty(), usage,
            "--model and --model-config exclude each other", "ttt render", "give one of them");
  const nvs::LvsmConfig config = options.model_config.empty()
                                     ? nvs::find_lvsm_preset(options.model).config
                                     : nvs::read_lvsm_config(options.model_config);
  setup.config_origin =
      options.model_config.empty() ? "the preset" : printable(options.model_config);
  nvs::check_config(config, setup.config_origin);
  setup.config = config;
  std::promise<std::string> hash;
  hash.set_value(fmt::format("random {} {}", config.name(), setup.seed));
  setup.weights_hash = hash.get_future().share();
  if (options.dry_run) return nullptr;
  auto model = std::make_shared<nvs::LvsmModel>(config);
  model->initialize(setup.seed);
  return model;
}

/// Empty where none are installed.
std::string shipped_weights() {
  try {
    return asset_path(kShippedWeights);
  } catch (const Error&) {
    return {};
  }
}

/// What the weights say about the views that they were trained on.
void read_training(RenderSetup& setup, const WeightFile& file) {
  const auto value = [&](const char* key) {
    const auto found = file.metadata().find(key);
    return found == file.metadata().end() ? std::string() : found->second;
  };
  const std::string size = value(nvs::kSizeMetadata), mode = value(nvs::kModeMetadata);
  const std::string where = printable(file.path().string());
  TTT_CHECK(mode.empty() || mode == "object" || mode == "scene", weights,
            fmt::format("the metadata name a mode \"{}\"", printable(mode, 40)), where,
            "the file is damaged or from a later version");
  setup.trained_mode = mode;
  if (size.empty()) return;
  try {
    setup.size = parse_size(size, where);
    nvs::check_picture_size(setup.size.width, setup.size.height, setup.config.patch_size);
  } catch (const Error& error) {
    throw Error(ErrorKind::weights, "the metadata's size is none: " + error.message(), where,
                "the file is damaged or from a later version");
  }
}

std::shared_ptr<nvs::LvsmModel> stored_model(const RenderOptions& options, RenderSetup& setup) {
  const std::string path = uses_shipped_weights(options) ? shipped_weights() : options.weights;
  TTT_CHECK(!path.empty(), usage, "no weights were given", "--weights",
            "give a checkpoint with --weights FILE, or --model NAME --random-weights for a test");
  nvs::LoadedLvsm loaded = nvs::load_lvsm({path, options.weights_key, options.model_config,
                                           options.allow_missing, options.allow_unexpected});
  if (!options.model.empty()) {
    const nvs::LvsmPreset& preset = nvs::find_lvsm_preset(options.model);
    TTT_CHECK(loaded.model->config().name() == preset.name, weights,
              fmt::format("these are the weights of {}, not of {}", loaded.model->config().name(),
                          preset.name),
              printable(options.weights), "leave out --model");
  }
  setup.config = loaded.model->config();
  setup.config_origin = loaded.config_origin;
  setup.weights = path;
  setup.weights_key = loaded.file.weights_key();
  read_training(setup, loaded.file);
  setup.weights_hash =
      std::async(std::launch::async, [file = loaded.file] { return file.content_hash(); }).share();
  return loaded.model;
}

}  // namespace

bool uses_shipped_weights(const RenderOptions& options) {
  return options.weights.empty() && options.model.empty() && options.model_config.empty() &&
         !options.random_weights;
}

RenderSetup set_up(const RenderOptions& options) {
  configure_torch(options.threads, options.tf32);
  RenderSetup setup;
  setup.device = choose_device(options.device);
  setup.seed = choose_seed(options.seed);
  const auto model =
      options.random_weights ? random_model(options, setup) : stored_model(options, setup);
  nvs::RendererOptions& run = setup.run;
  run.dtype = options.dtype == "bf16" ? at::kBFloat16 : at::kFloat;
  run.device = setup.device.device;
  run.backend = ops::parse_backend(options.backend);
  run.bf16_newton_schulz = options.ns_dtype == "bf16";
  run.tile_tokens = options.tile;
  if (model) setup.renderer.emplace(*model, run);
  if (options.size || setup.size == PixelSize{}) setup.size = options.size.value_or(kPublishedSize);
  setup.render_size = options.render_size.value_or(setup.size);
  for (const auto& [size, flag] :
       {std::pair{setup.size, "--size"}, std::pair{setup.render_size, "--render-size"}})
    nvs::check_picture_size(size.width, size.height, setup.config.patch_size, flag);
  if (!options.lpips_weights.empty()) {
    nvs::check_perceptual_size(setup.render_size.width, setup.render_size.height);
    setup.perceptual =
        std::make_shared<nvs::PerceptualLoss>(options.lpips_weights, setup.device.device);
  }
  return setup;
}

Json describe(const RenderSetup& setup, const RenderOptions& options) {
  Json result{{"model", setup.config.name()},
              {"config", Json::parse(nvs::config_to_json(setup.config))},
              {"weights", setup.weights.empty() ? Json(nullptr) : Json(utf8_text(setup.weights))},
              {"weights_hash", setup.weights_hash.get()},
              {"weights_key", setup.weights_key},
              {"seed", setup.seed},
              {"size", to_string(setup.size)},
              {"render_size", to_string(setup.render_size)},
              {"device", setup.device.device.str()},
              {"device_reason", setup.device.reason},
              {"backend", options.backend},
              {"dtype", options.dtype},
              {"ns_dtype", options.ns_dtype},
              {"tf32", options.tf32},
              {"threads", at::get_num_threads()},
              {"tile", options.tile}};
  if (setup.perceptual) result["lpips_weights_hash"] = setup.perceptual->description();
  return result;
}

void announce(const RenderSetup& setup, const RenderOptions& options) {
  if (uses_shipped_weights(options))
    log_info(
        "no --weights: the shipped model, which was trained on small made-up scenes and on two "
        "scanned objects");
  log_info("model: {}, {:.1f} M parameters, from {}; architecture from {}", setup.config.name(),
           static_cast<double>(setup.config.parameter_count()) / 1e6,
           setup.weights.empty() ? fmt::format("random weights, seed {}", setup.seed)
                                 : printable(setup.weights),
           setup.config_origin);
  log_info("running on {} ({}), backend {}, {}, Newton-Schulz in {}, {} threads",
           setup.device.device.str(), setup.device.reason, options.backend, options.dtype,
           options.ns_dtype, at::get_num_threads());
}

}  // namespace ttt::cli
