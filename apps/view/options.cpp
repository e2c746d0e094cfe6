// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/view/options.h"

#include "apps/render/option_groups.h"

namespace ttt::cli {
namespace {

void add_page_options(OptionTable& table, ViewOptions& options) {
  table.group("Page");
  table.add_text({.name = "host",
                  .value = "ADDRESS",
                  .help = "address to listen on; 0.0.0.0 lets other machines look too, and nothing "
                          "asks them for a password",
                  .common = true},
                 options.host);
  table.add_integer(
      {.name = "port", .value = "N", .help = "port to listen on; 0: a free one", .common = true},
      options.port, {0, 65535});
  table.add_list({.name = "allow-host",
                  .value = "NAME",
                  .help = "name by which browsers may call this machine, beside localhost, --host "
                          "and addresses"},
                 options.allow_host);
  add_size_options(table, options.render);
  table.add_size({.name = "drag-size",
                  .value = "WxH",
                  .help = "size of the pictures while the camera moves",
                  .unit = "pixels",
                  .standard = "half of --render-size, in whole patches",
                  .common = true},
                 options.drag_size);
  table.add_choice(
      {.name = "format", .value = "FORMAT", .help = "form of the rows on standard output"},
      options.render.format, {"table", "jsonl"});
  table.add_switch({.name = "overwrite", .help = "replace an existing --save-state"},
                   options.render.overwrite);
}

}  // namespace

OptionTable view_table(ViewOptions& options) {
  RenderOptions& render = options.render;
  render.targets = "none";  // nothing is measured, so nothing is held out
  OptionTable table("view", "Look around a scene in a web browser, rendered live with LaCT-LVSM.");
  add_scene_options(table, render);
  add_input_view_options(table, render);
  add_world_options(table, render);
  add_model_options(table, render);
  add_state_options(table, render);
  add_page_options(table, options);
  add_running_options(table, render);
  table.add_preset(
      {"official",
       "what the official script computes: its loader and Newton-Schulz in bf16",
       {{"decode", "official"}, {"ns-dtype", "bf16"}, {"dtype", "fp32"}, {"tf32", "false"}}});
  table.positional({"input"});
  table.own_config(is_model_config);
  add_general_options(table, render.general, true);
  table.note(
      "SCENE may also be a saved state. A row with status serving tells the url of the page, and "
      "the last row, with status summary, how much was rendered. Ctrl-C ends the server; the exit "
      "code is then 130.");
  table.note(
      "With --save-state FILE, FILE.run.json records the run; --config FILE.run.json repeats it.");
  return table;
}

}  // namespace ttt::cli
