// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/render/options.h"

#include "apps/common/shared_options.h"

#include <fstream>

namespace ttt::cli {
namespace {

void add_scene(OptionTable& table, RenderOptions& options) {
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

void add_views(OptionTable& table, RenderOptions& options) {
  table.group("Views");
  table.add_text({.name = "input-views",
                  .value = "LIST",
                  .help = "frames to reconstruct from, such as 0,3,8-12",
                  .standard = "chosen by --select",
                  .common = true},
                 options.input_views);
  table.add_text({.name = "target-views",
                  .value = "LIST",
                  .help = "frames to render and compare with",
                  .standard = "chosen by --targets",
                  .common = true},
                 options.target_views);
  table.add_integer({.name = "views",
                     .value = "N",
                     .help = "how many input views are chosen at most; 0: all that are no targets"},
                    options.views, {0, 100000});
  table.add_choice({.name = "select", .value = "RULE", .help = "how input views are chosen"},
                   options.select, {"first", "uniform", "kmeans", "farthest", "random"});
  table.add_choice(
      {.name = "targets",
       .value = "RULE",
       .help = "held-out views: every N-th frame (--every), all that are no inputs, the "
               "scene's own test split, or none; auto: the split if there is one, else "
               "every"},
      options.targets, {"auto", "every", "rest", "split", "none"});
  table.add_integer({.name = "every", .value = "N", .help = "N of --targets every"}, options.every,
                    {2, 100000});
  table.add_text({.name = "selection",
                  .value = "FILE.json",
                  .help = "take the views of an earlier --save-selection"},
                 options.selection);
  table.add_text({.name = "save-selection",
                  .value = "FILE.json",
                  .help = "write which views were inputs and targets"},
                 options.save_selection);
}

void add_cameras(OptionTable& table, RenderOptions& options) {
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
  table.add_choice({.name = "normalize-by",
                    .value = "VIEWS",
                    .help = "scene mode: the views whose mean camera counts"},
                   options.normalize_by, {"all", "inputs"});
  table.add_text(
      {.name = "path",
       .value = "PATH",
       .help = "what is rendered: dataset (the target views), orbit, spiral, interpolate "
               "(through the inputs), turntable (objects), or a FILE.json of cameras",
       .common = true},
      options.path);
  table.add_integer({.name = "frames",
                     .value = "N",
                     .help = "frames of orbit, spiral and turntable",
                     .common = true},
                    options.frames, {1, 100000});
  table.add_integer(
      {.name = "between", .value = "N", .help = "interpolate: frames between two cameras"},
      options.between, {0, 10000});
  table.add_choice(
      {.name = "interpolation",
       .value = "RULE",
       .help = "sphere: on the rotation sphere; spline: smooth; linear: the official one, "
               "which shears"},
      options.interpolation, {"sphere", "spline", "linear"});
  table.add_number({.name = "fps",
                    .value = "X",
                    .help = "frames per second of a movie",
                    .standard = "30",
                    .common = true},
                   options.fps, {0.1, 1000});
}

void add_model(OptionTable& table, RenderOptions& options) {
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
  table.add_switch({.name = "add-views",
                    .help = "with --state: write the input views into it by one more update; close "
                            "to, but not the same as, one reconstruction from all views"},
                   options.add_views);
  table.add_switch({.name = "inner-update",
                    .help = "take the update of the fast weights; off: the trained initial ones"},
                   options.inner_update);
  table.add_switch(
      {.name = "inner-report", .help = "report losses, norms and step sizes of every update"},
      options.inner_report);
  table.add_text({.name = "inner-plot", .value = "FILE.png", .help = "draw the same"},
                 options.inner_plot);
}

void add_results(OptionTable& table, RenderOptions& options) {
  table.group("Results");
  table.add_text({.name = "output",
                  .letter = 'o',
                  .value = "OUT",
                  .help = "folder or name_{index:04}.png for pictures; .mp4, .gif or .avi for a "
                          "movie; {scene} stands for the scene's name",
                  .common = true},
                 options.output);
  table.add_integer({.name = "start-index", .value = "N", .help = "number of the first picture"},
                    options.start_index, {0, 1e9});
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
  table.add_choice({.name = "baseline",
                    .value = "WHAT",
                    .help = "nearest: in place of each rendering the input view with the nearest "
                            "camera, which a model should beat"},
                   options.baseline, {"none", "nearest"});
  table.add_text({.name = "metrics",
                  .value = "FILE",
                  .help = "write PSNR and SSIM of the target views, .json or .csv",
                  .common = true},
                 options.metrics);
  table.add_text({.name = "tensors",
                  .value = "FILE.safetensors",
                  .help = "write what was rendered before rounding: rendered [V,3,H,W] fp32"},
                 options.tensors);
  table.add_text(
      {.name = "sheet",
       .value = "FILE.png",
       .help = "write an overview: inputs, and rendered, truth and error of the targets"},
      options.sheet);
  table.add_text(
      {.name = "rig", .value = "FILE.png", .help = "draw the cameras from above and from the side"},
      options.rig);
  table.add_choice(
      {.name = "format", .value = "FORMAT", .help = "form of the rows on standard output"},
      options.format, {"table", "jsonl", "json", "csv"});
  table.add_switch({.name = "overwrite", .help = "replace existing outputs"}, options.overwrite);
  table.add_switch(
      {.name = "resume",
       .help = "go on with an interrupted sequence of pictures: those that are there are "
               "kept"},
      options.resume);
}

void add_running(OptionTable& table, RenderOptions& options) {
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

/// Whether a file is a model configuration rather than one of options.
bool is_model_config(const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("block_config:")) return true;
  return false;
}

}  // namespace

OptionTable render_table(RenderOptions& options) {
  OptionTable table("render", "Render new views of a scene from posed pictures with LaCT-LVSM.");
  add_scene(table, options);
  add_views(table, options);
  add_cameras(table, options);
  add_model(table, options);
  add_results(table, options);
  add_running(table, options);
  table.add_preset({"official",
                    "the official script: its loader and Newton-Schulz in bf16, fp32 else",
                    {{"decode", "official"},
                     {"interpolation", "linear"},
                     {"ns-dtype", "bf16"},
                     {"dtype", "fp32"},
                     {"tf32", "false"}}});
  table.positional({"input"});
  table.own_config(is_model_config);
  add_general_options(table, options.general, true);
  table.note(
      "Rows: schema, scene, view (the frame of a target view, else the number in the path), "
      "status, "
      "psnr and ssim where there is a picture to compare with, file, error. The last row has "
      "status "
      "summary. PSNR is that of the values as rendered, not of the 8-bit pictures.");
  table.note(
      "With --output, OUT.run.json records the run; --config OUT.run.json repeats it. Interrupted "
      "runs keep the pictures that are done; a movie ends there.");
  return table;
}

}  // namespace ttt::cli
