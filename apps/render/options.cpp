// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/render/options.h"

#include "apps/render/option_groups.h"

namespace ttt::cli {
namespace {

void add_views(OptionTable& table, RenderOptions& options) {
  add_input_view_options(table, options);
  table.add_text({.name = "target-views",
                  .value = "LIST",
                  .help = "frames to render and compare with",
                  .standard = "chosen by --targets",
                  .common = true},
                 options.target_views);
  table.add_choice(
      {.name = "targets",
       .value = "RULE",
       .help = "held-out views: every N-th frame (--every), all that are no inputs, the "
               "scene's own test split, or none; auto: the split if there is one, else "
               "every"},
      options.targets, {"auto", "every", "rest", "split", "none"});
  table.add_integer({.name = "every", .value = "N", .help = "N of --targets every"}, options.every,
                    {2, 100000});
  table.add_text({.name = "save-selection",
                  .value = "FILE.json",
                  .help = "write which views were inputs and targets"},
                 options.save_selection);
}

void add_cameras(OptionTable& table, RenderOptions& options) {
  add_world_options(table, options);
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

void add_state(OptionTable& table, RenderOptions& options) {
  add_state_options(table, options);
  table.add_switch({.name = "add-views",
                    .help = "with --state: write the input views into it by one more update; close "
                            "to, but not the same as, one reconstruction from all views"},
                   options.add_views);
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
  add_size_options(table, options);
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
  table.add_list({.name = "lpips-weights",
                  .value = "FILE",
                  .help = "measure LPIPS of the target views too: VGG16's and LPIPS's weights, in "
                          "one file or two"},
                 options.lpips_weights);
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

}  // namespace

OptionTable render_table(RenderOptions& options) {
  OptionTable table("render", "Render new views of a scene from posed pictures with LaCT-LVSM.");
  add_scene_options(table, options);
  add_views(table, options);
  add_cameras(table, options);
  add_model_options(table, options);
  add_state(table, options);
  add_results(table, options);
  add_running_options(table, options);
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
      "psnr and ssim (and lpips, with --lpips-weights) where there is a picture to compare with, "
      "file, error. The last row has "
      "status "
      "summary. PSNR is that of the values as rendered, not of the 8-bit pictures.");
  table.note(
      "With --output, OUT.run.json records the run; --config OUT.run.json repeats it. Interrupted "
      "runs keep the pictures that are done; a movie ends there.");
  return table;
}

}  // namespace ttt::cli
