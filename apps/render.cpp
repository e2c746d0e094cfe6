// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/render.h"

#include "apps/common/help.h"
#include "apps/render/option_groups.h"
#include "apps/render/run.h"
#include "core/cancel.h"
#include "core/error.h"

#include <spdlog/fmt/fmt.h>

namespace ttt::cli {
namespace {

void forbid(bool both, const std::string& first, const std::string& second,
            const std::string& hint) {
  TTT_CHECK(!both, usage, fmt::format("{} and {} exclude each other", first, second), "ttt render",
            hint);
}

/// Combinations that the option table can't express.
void check_options(const RenderOptions& options) {
  const bool measured = !options.metrics.empty() || !options.tensors.empty() ||
                        !options.sheet.empty() || !options.save_state.empty();
  const bool of_scene = !options.rig.empty() || !options.save_selection.empty();
  TTT_CHECK(!options.output.empty() || measured || of_scene || options.dry_run ||
                options.inner_report || !options.inner_plot.empty(),
            usage, "there is nothing to write", "ttt render",
            "name the result with --output, or ask for --metrics, --tensors, --sheet, "
            "--save-state, --rig or --save-selection");
  forbid(options.overwrite && options.resume, "--overwrite", "--resume",
         "--resume goes on with the earlier result, --overwrite starts anew");
  TTT_CHECK(!options.resume || !options.output.empty(), usage, "--resume needs an --output",
            "--resume", "name the result of the interrupted run with --output");
  forbid(options.resume && measured, "--resume", "--metrics, --tensors, --sheet or --save-state",
         "run again with --overwrite to get them for all pictures");
  TTT_CHECK(!options.add_views || !options.state.empty(), usage, "--add-views needs a --state",
            "--add-views", "name the state that the views are added to");
  TTT_CHECK(!options.add_views || !options.input.empty(), usage, "--add-views needs a scene",
            "--add-views", "give the scene that the views come from");
  forbid(options.add_views && !options.inner_update, "--add-views", "--no-inner-update",
         "leave out one of them");
  const bool fresh = options.state.empty() || options.add_views;
  TTT_CHECK(
      (fresh && options.inner_update) || (!options.inner_report && options.inner_plot.empty()),
      usage, "there is no update to report", "--inner-report, --inner-plot",
      "reconstruct, or add views with --add-views");
  forbid(!options.state.empty() && options.fit, "--state", "--fit",
         "the state knows how its cameras were fitted");
  const bool baseline = options.baseline != "none";
  forbid(baseline && (!options.state.empty() || !options.save_state.empty()), "--baseline",
         "--state, --save-state", "a baseline is made from the scene's pictures alone");
  forbid(baseline && (!options.inner_update || options.inner_report || !options.inner_plot.empty()),
         "--baseline", "--no-inner-update, --inner-report and --inner-plot",
         "a baseline has no update: leave these out");
  forbid(baseline && options.render_size.has_value(), "--baseline", "--render-size",
         "its pictures are input views, of --size");
  const bool compares =
      options.path == "dataset" || !options.metrics.empty() || !options.sheet.empty();
  TTT_CHECK(options.lpips_weights.empty() || compares, usage,
            "nothing is compared with the scene's pictures", "--lpips-weights",
            "add --metrics, or leave this out");
  TTT_CHECK(!of_scene || !options.input.empty(), usage, "this needs a scene",
            "--rig, --save-selection", "give the scene");
}

}  // namespace

int render_command(const std::vector<std::string>& arguments) {
  RenderOptions options;
  OptionTable table = render_table(options);
  if (start(table, options.general, arguments)) return 0;
  take_model_config(table, options);
  check_options(options);
  install_cancel_signal_handler();
  return run_render(table, options);
}

nlohmann::ordered_json describe_render() {
  RenderOptions options;
  return describe_table(render_table(options));
}

}  // namespace ttt::cli
