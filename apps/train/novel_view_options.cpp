// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/train/options.h"

namespace ttt::cli {

void add_novel_view_options(OptionTable& table, TrainOptions& options) {
  table.group("Novel views");
  table.add_text({.name = "architecture",
                  .value = "FILE|NAME",
                  .help = "of --model lvsm: a file in the official schema, or a published one"},
                 options.architecture);
  table.add_text({.name = "data-weights",
                  .value = "X[,X…]",
                  .help = "how often scenes are taken from each --data",
                  .standard = "equally often"},
                 options.data_weights);
  table.add_integer(
      {.name = "input-views", .value = "N", .help = "views that a scene is built from"},
      options.input_views, {1, 1024});
  table.add_integer({.name = "target-views", .value = "N", .help = "views that are rendered"},
                    options.target_views, {1, 1024});
  table.add_integer({.name = "shared-views",
                     .value = "N",
                     .help = "views that are inputs and targets both (in training only)"},
                    options.shared_views, {0, 1024});
  table.add_choice({.name = "mode",
                    .value = "MODE",
                    .help = "object: poses as they are; scene: normalised by the mean camera"},
                   options.mode, {"object", "scene"});
  table.add_choice({.name = "ns-dtype",
                    .value = "TYPE",
                    .help = "Newton-Schulz of the fast weights: fp32, or bf16 as published"},
                   options.ns_dtype, {"fp32", "bf16"});
  table.add_list(
      {.name = "lpips-weights",
       .value = "FILE",
       .help = "add the perceptual loss: VGG16's and LPIPS's weights, in one file or two"},
      options.lpips_weights);
  table.add_number({.name = "lpips",
                    .value = "X",
                    .help = "weight of the perceptual loss; 0: it is only measured",
                    .standard = "1 with --lpips-weights"},
                   options.lpips, {0, 1000});
  table.add_integer({.name = "lpips-start",
                     .value = "N",
                     .help = "steps before the perceptual loss counts",
                     .standard = "5000, as published"},
                    options.lpips_start, {0, 1e9});
  table.add_integer({.name = "epoch-scenes", .value = "N", .help = "scenes that make an epoch"},
                    options.epoch_scenes, {1, 1e9});
  table.add_integer({.name = "held-out-every",
                     .value = "N",
                     .help = "never train on frames 0, N, 2N, … of a scene without splits; 0: on "
                             "all"},
                    options.held_out_every, {0, 100000});
  table.add_integer({.name = "validation-scenes",
                     .value = "N",
                     .help = "made-up scenes to measure on (--validation procedural)"},
                    options.validation_scenes, {1, 100000});
  table.add_text({.name = "export-scenes",
                  .value = "FOLDER",
                  .help = "write those scenes as data sets for `ttt render`, and stop"},
                 options.export_scenes);
}

}  // namespace ttt::cli
