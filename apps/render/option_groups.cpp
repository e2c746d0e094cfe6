// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/render/option_groups.h"

#include "apps/common/shared_options.h"
#include "core/error.h"
#include "core/inputs/paths.h"

namespace ttt::cli {

void add_scene_options(OptionTable& table, RenderOptions& options) {
  table.group("Scene");
  table.add_text(
      {.name = "input",
       .letter = 'i',
       .value = "SCENE",
       .help = "LaCT cameras or index (.json), transforms.json, COLMAP model, or a folder "
               "that holds one; the same as an argument without a flag",
       .common = true},
      options.input);
  table.add_integer({.name = "scene",
                     .value = "N",
                     .help = "scene number N of an index file, from 0",
                     .standard = "all"},
                    options.scene, {0, 1e9});
  table.add_switch(
      {.name = "keep-world",
       .help = "keep the world of a transforms.json; else applied_transform is undone"},
      options.keep_world);
  table.add_switch(
      {.name = "sort-frames", .help = "number the frames by the natural order of their names"},
      options.sort_frames);
  table.add_integer({.name = "downscale",
                     .value = "N",
                     .help = "take the pictures from images_N; 0: where the scene says"},
                    options.downscale, {0, 64});
  table.add_choice(
      {.name = "decode",
       .value = "MODE",
       .help = "photo: alpha over white, exact lens centres; official: exactly what the "
               "official loader and script do"},
      options.decode, {"photo", "official"});
}

void add_input_view_options(OptionTable& table, RenderOptions& options) {
  table.group("Views");
  table.add_text({.name = "input-views",
                  .value = "LIST",
                  .help = "frames to reconstruct from, such as 0,3,8-12",
                  .standard = "chosen by --select",
                  .common = true},
                 options.input_views);
  table.add_integer({.name = "views",
                     .value = "N",
                     .help = "how many input views are chosen at most; 0: all that are no targets"},
                    options.views, {0, 100000});
  table.add_choice({.name = "select", .value = "RULE", .help = "how input views are chosen"},
                   options.select, {"first", "uniform", "kmeans", "farthest", "random"});
  table.add_text({.name = "selection",
                  .value = "FILE.json",
                  .help = "take the views of an earlier --save-selection"},
                 options.selection);
}

void add_world_options(OptionTable& table, RenderOptions& options) {
  table.group("Cameras");
  table.add_choice(
      {.name = "mode",
       .value = "MODE",
       .help = "object: poses as they are, for an object at the origin; scene: poses "
               "normalised by the mean camera",
       .standard = "object if the rig looks like the object models' training, else scene",
       .common = true},
      options.mode, {"auto", "object", "scene"});
  table.add_switch({.name = "fit",
                    .help = "object mode: move, turn and scale a capture to what the object models "
                            "were trained on"},
                   options.fit);
}

void add_model_options(OptionTable& table, RenderOptions& options) {
  table.group("Model");
  table.add_text({.name = "weights",
                  .letter = 'w',
                  .value = "FILE",
                  .help = "checkpoint: .pt, .pth or .safetensors",
                  .standard = "the shipped model for views of 64x64 pixels",
                  .common = true},
                 options.weights);
  table.add_text({.name = "weights-key",
                  .value = "KEY",
                  .help = "dictionary inside the checkpoint",
                  .standard = "EMA weights first"},
                 options.weights_key);
  table.add_text({.name = "model",
                  .letter = 'm',
                  .value = "NAME",
                  .help = "architecture of random weights; `ttt list models` shows them",
                  .standard = "told from the weights"},
                 options.model);
  table.add_text({.name = "model-config",
                  .value = "FILE.yaml",
                  .help = "the model's configuration in the official schema; --config takes it too",
                  .standard = "told from the weights"},
                 options.model_config);
  add_allowed_tensors(table, options.allow_missing, options.allow_unexpected);
  table.add_switch({.name = "random-weights",
                    .help = "random weights instead of a file, to test shapes, speed and memory"},
                   options.random_weights);
  table.add_integer({.name = "seed",
                     .letter = 's',
                     .value = "N",
                     .help = "seed of random weights and --select random; negative: a random one, "
                             "which is printed"},
                    options.seed, {});
}

void add_state_options(OptionTable& table, RenderOptions& options) {
  table.group("Scene state");
  table.add_text({.name = "state",
                  .value = "FILE",
                  .help = "render from a saved state instead of reconstructing"},
                 options.state);
  table.add_text({.name = "save-state",
                  .value = "FILE.safetensors",
                  .help = "keep the reconstruction: any path can be rendered from it later"},
                 options.save_state);
  table.add_choice({.name = "state-dtype",
                    .value = "TYPE",
                    .help = "type of the saved matrices; bf16 halves the file, for rendering only"},
                   options.state_dtype, {"fp32", "bf16"});
  table.add_switch({.name = "inner-update",
                    .help = "take the update of the fast weights; off: the trained initial ones"},
                   options.inner_update);
}

void add_size_options(OptionTable& table, RenderOptions& options) {
  table.add_size({.name = "size",
                  .value = "WxH",
                  .help = "what the model sees and renders",
                  .unit = "pixels",
                  .standard = "what the weights were trained on, else 256x256",
                  .common = true},
                 options.size);
  table.add_size({.name = "render-size",
                  .value = "WxH",
                  .help = "size of the rendered pictures",
                  .unit = "pixels",
                  .standard = "that of --size"},
                 options.render_size);
}

void add_running_options(OptionTable& table, RenderOptions& options) {
  table.group("Running");
  add_device(table, options.device);
  add_backend(table, options.backend);
  table.add_choice({.name = "dtype",
                    .value = "TYPE",
                    .help = "type of the matrix products; states and the residual stream stay fp32",
                    .common = true},
                   options.dtype, {"fp32", "bf16"});
  table.add_choice({.name = "ns-dtype",
                    .value = "TYPE",
                    .help = "type of Newton-Schulz; the official code rounds to bf16"},
                   options.ns_dtype, {"fp32", "bf16"});
  add_tf32(table, options.tf32);
  add_threads(table, options.threads);
  table.add_integer(
      {.name = "workers", .value = "N", .help = "threads that read and decode pictures"},
      options.workers, {1, 256});
  table.add_integer({.name = "tile",
                     .value = "N",
                     .help = "tokens in work at a time; more memory, and speed on large machines"},
                    options.tile, {1, 1e7});
  table.add_switch(
      {.name = "dry-run", .help = "check everything, estimate the memory, render nothing"},
      options.dry_run);
}

bool is_model_config(const std::string& path) {
  constexpr std::size_t kHead = 1 << 16;
  if (!inputs::is_file(path)) return false;
  const std::vector<std::uint8_t> head = inputs::read_head(path, kHead);
  return ("\n" + std::string(head.begin(), head.end())).find("\nblock_config:") !=
         std::string::npos;
}

void take_model_config(OptionTable& table, const RenderOptions& options) {
  if (!table.is_own_config(options.general.config)) return;
  TTT_CHECK(options.model_config.empty(), usage,
            "--config and --model-config both name the model's configuration",
            "ttt " + table.command(), "give one of them");
  Option* const option = table.find("model-config");
  option->set({options.general.config}, "--config");
  option->origin = table.at("config").origin;
}

}  // namespace ttt::cli
