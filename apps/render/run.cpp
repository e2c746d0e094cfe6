// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/render/run.h"

#include "apps/common/console.h"
#include "apps/common/memory.h"
#include "apps/common/output.h"
#include "apps/common/report_error.h"
#include "apps/common/text.h"
#include "apps/render/memory.h"
#include "apps/render/report.h"
#include "apps/render/scene_run.h"
#include "core/cancel.h"
#include "core/log.h"
#include "core/version.h"

#include <spdlog/fmt/fmt.h>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Nested values as "name.part value" lines.
void add_lines(const std::string& name, const Json& value, std::string& text) {
  if (!value.is_object()) {
    text += fmt::format("{:<24} {}\n", name,
                        value.is_string() ? printable(value.get<std::string>()) : dump_json(value));
    return;
  }
  for (const auto& [key, item] : value.items())
    add_lines(name.empty() ? key : name + "." + key, item, text);
}

std::optional<RenderScene> open(const nvs::SceneLocation& location, const RenderOptions& options,
                                std::uint64_t seed) {
  RenderScene scene;
  scene.scene = open_scene(location, options);
  scene.selection = choose_views(scene.scene, options, seed);
  const std::string targets = options.path == "dataset"
                                  ? fmt::format("{} targets", scene.selection.targets.size())
                                  : "cameras by --path " + options.path;
  log_info("views: {} inputs, {} ({})", scene.selection.inputs.size(), printable(targets),
           printable(scene.selection.method));
  return scene;
}

/// Scenes in order, rows, summary.
class RenderRun {
 public:
  RenderRun(const OptionTable& table, const RenderOptions& options);
  int run();

 private:
  void find_scenes();
  int dry_run(const RenderSetup& setup);
  void run_scene(const RenderJob& job, std::size_t index);
  void finish(const RenderSetup& setup, const PeakMemory& memory);

  const OptionTable& table_;
  const RenderOptions& options_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::vector<nvs::SceneLocation> locations_;  ///< empty when a state is rendered without a scene
  std::vector<RenderPaths> paths_;
  std::uint64_t seed_ = 0;
  std::unique_ptr<ResultSink> sink_;
  nlohmann::ordered_json summaries_ = nlohmann::ordered_json::array();
  std::optional<Error> last_error_;
  std::vector<std::string> failed_pictures_;
  std::size_t failed_scenes_ = 0;
  std::int64_t rendered_ = 0;
  bool interrupted_ = false;
};

RenderRun::RenderRun(const OptionTable& table, const RenderOptions& options)
    : table_(table), options_(options) {}

void RenderRun::find_scenes() {
  if (options_.input.empty()) {
    TTT_CHECK(!options_.state.empty(), usage, "no scene is given", "ttt render",
              "give one: `ttt render SCENE -w FILE -o OUT`");
    paths_ = resolve_paths(options_, {"state"});
    return;
  }
  locations_ = nvs::find_scenes(options_.input);
  if (options_.scene) {
    const auto wanted = static_cast<std::size_t>(*options_.scene);
    TTT_CHECK(wanted < locations_.size(), usage,
              fmt::format("there are {} scenes, numbered from 0", locations_.size()),
              fmt::format("--scene {}", wanted), "choose one of them");
    locations_ = {locations_[wanted]};
  }
  TTT_CHECK(options_.state.empty() || locations_.size() == 1, usage, "a state belongs to one scene",
            "--state", "choose the scene with --scene N");
  std::vector<std::string> names;
  for (const nvs::SceneLocation& location : locations_) names.push_back(location.name);
  paths_ = resolve_paths(options_, names);
}

int RenderRun::run() {
  find_scenes();
  const ProgressDisplay::Settings progress = progress_settings(options_.general);
  const RenderSetup setup = set_up(options_);
  seed_ = setup.seed;
  if (options_.dry_run) return dry_run(setup);
  announce(setup, options_);
  const PeakMemory memory;
  ProgressDisplay display(progress);
  sink_ = make_stream_sink("", make_render_renderer(choose_format(options_.format, "")));
  const RenderJob job{table_, options_, setup, *sink_, display.callback()};
  for (std::size_t i = 0; i < paths_.size() && !interrupted_; ++i) run_scene(job, i);
  finish(setup, memory);
  return 0;
}

int RenderRun::dry_run(const RenderSetup& setup) {
  std::string text;
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    std::optional<RenderScene> scene;
    nvs::SceneState state;
    if (!locations_.empty()) scene = open(locations_[i], options_, seed_);
    if (!options_.state.empty()) {
      state = nvs::load_scene_state(options_.state);
      if (scene) {
        scene->mode = state.mode;
        scene->normalization = state.normalization;
      }
    } else {
      normalize(*scene, setup, options_);
    }
    const auto cameras =
        path_cameras(scene ? &*scene : nullptr, scene ? scene->normalization : state.normalization,
                     scene ? scene->mode : state.mode, setup, options_);
    Json row = dry_run_row(setup, options_, scene, static_cast<std::int64_t>(cameras.size()));
    row.update(describe(setup, options_));
    if (options_.format == "table")
      add_lines("", row, text);
    else
      text += dump_json(row, options_.format == "json" ? 2 : -1) + "\n";
  }
  write_stdout(text);
  return 0;
}

void RenderRun::run_scene(const RenderJob& job, std::size_t index) {
  const auto fail = [&](const Error& error) {
    // One scene among several doesn't end the run; of one scene the error is the run's.
    if (paths_.size() == 1 || error.kind() == ErrorKind::usage || error.kind() == ErrorKind::output)
      throw Error(error);
    last_error_ = error;
    ++failed_scenes_;
    Json row{{"schema", kSchema}};
    put_name(row, "scene", locations_[index].name);
    row["status"] = "error";
    row["error"] = utf8_text(error.what());
    row["error_kind"] = to_string(error.kind());
    sink_->row(row);
  };
  try {
    std::optional<RenderScene> scene;
    if (!locations_.empty()) scene = open(locations_[index], options_, seed_);
    SceneRun run(job, std::move(scene), paths_[index]);
    run.run();
    interrupted_ = run.interrupted() || (cancel_requested() && index + 1 < paths_.size());
    rendered_ += run.rendered();
    summaries_.push_back(run.summary());
    failed_pictures_.insert(failed_pictures_.end(), run.failed().begin(), run.failed().end());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::interrupted) return fail(error);
    interrupted_ = true;
  }
}

void RenderRun::finish(const RenderSetup& setup, const PeakMemory& memory) {
  const BuildInfo& build = build_info();
  Json summary{{"schema", kSchema}, {"status", "summary"}, {"command", "render"}};
  summary["scenes"] = summaries_;
  summary["counts"] = {{"scenes", paths_.size()},
                       {"failed", failed_scenes_},
                       {"rendered", rendered_},
                       {"unreadable_pictures", failed_pictures_.size()}};
  summary["interrupted"] = interrupted_;
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start_;
  summary["total_time_ms"] = significant(elapsed.count(), 6);
  summary["memory_mib"] = {{"loaded", mebibytes(memory.start())},
                           {"peak_above_loaded", mebibytes(memory.above_start())}};
  summary["version"] = build.version;
  summary["commit"] = build.commit;
  summary.update(describe(setup, options_));
  sink_->finish(summary, !interrupted_);
  Console::instance().print_repetitions();
  if (interrupted_)
    throw Error(ErrorKind::interrupted, fmt::format("interrupted after {} pictures", rendered_),
                printable(options_.output), "a sequence of PNG files can be resumed with --resume");
  if (failed_scenes_ > 0)
    throw Error(
        ErrorKind::input, fmt::format("{} of {} scenes failed", failed_scenes_, paths_.size()),
        printable(options_.input), "the rows with status error say why; the others are valid");
  if (!failed_pictures_.empty())
    throw Error(ErrorKind::input,
                fmt::format("{} picture{} could not be read", failed_pictures_.size(),
                            failed_pictures_.size() == 1 ? "" : "s"),
                printable(options_.input),
                "the warnings name them; the result is made from the rest");
}

}  // namespace

int run_render(const OptionTable& table, const RenderOptions& options) {
  return RenderRun(table, options).run();
}

}  // namespace ttt::cli
