// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/view/run.h"

#include "apps/common/console.h"
#include "apps/common/output.h"
#include "apps/common/result_sink.h"
#include "apps/common/run_record.h"
#include "apps/common/text.h"
#include "apps/render/memory.h"
#include "apps/render/outputs.h"
#include "apps/render/reconstruction.h"
#include "apps/view/live_scene.h"
#include "apps/view/server.h"
#include "core/cancel.h"
#include "core/error.h"
#include "core/log.h"
#include "core/version.h"
#include "nvs/model/memory_estimate.h"

#include <spdlog/fmt/fmt.h>

#include <chrono>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;

/// For people: where the page is, then what was rendered.
class TableRenderer : public ResultRenderer {
 public:
  std::string row(const Json& row) override {
    return fmt::format("{} at {} (Ctrl-C ends)\n", printable(get_name(row, "scene")),
                       row["url"].get<std::string>());
  }
  std::string end(const Json& summary) override {
    const Json& counts = summary["counts"];
    std::string text = fmt::format("{} pictures rendered", counts["rendered"].get<std::int64_t>());
    if (summary.contains("render_ms_per_view"))
      text += fmt::format(", {:.0f} ms each", summary["render_ms_per_view"].get<double>());
    return text + "\n";
  }
};

/// Scene in, page out.
class ViewRun {
 public:
  ViewRun(const OptionTable& table, const ViewOptions& options)
      : table_(table), options_(options), render_(options.render) {}
  int run();

 private:
  void open_scene(const RenderSetup& setup);
  void obtain_state(const RenderSetup& setup, const ProgressCallback& progress);
  void dry_run(const RenderSetup& setup);
  void serve(ViewServer& server, const RenderSetup& setup);
  Json summary(const RenderSetup& setup) const;

  const OptionTable& table_;
  const ViewOptions& options_;
  const RenderOptions& render_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  RenderPaths paths_;
  std::optional<RenderScene> scene_;
  nvs::SceneState state_;
  std::vector<std::string> failed_;
  std::optional<LiveScene> live_;  ///< outlives the server, whose threads ask it
  double reconstruct_ms_ = 0;
  Json counts_;
  Json record_;
};

void ViewRun::open_scene(const RenderSetup& setup) {
  if (!render_.state.empty()) state_ = open_state(setup, render_);
  if (!render_.input.empty()) {
    auto locations = nvs::find_scenes(render_.input);
    const auto wanted = static_cast<std::size_t>(render_.scene.value_or(0));
    TTT_CHECK(wanted < locations.size(), usage,
              fmt::format("there are {} scenes, numbered from 0", locations.size()),
              fmt::format("--scene {}", wanted), "choose one of them");
    if (locations.size() > 1 && !render_.scene)
      log_warning("{} scenes are there: showing number 0 (--scene chooses)", locations.size());
    scene_ = cli::open_scene(locations[wanted], render_);
    scene_->selection = choose_views(scene_->scene, render_, setup.seed);
    TTT_CHECK(!scene_->selection.inputs.empty(), usage, "there are no input views", "--input-views",
              "choose --input-views or --views");
    for (const nvs::Frame& frame : scene_->scene.frames)
      if (!frame.usable()) failed_.push_back(frame.name + ": " + frame.problem);
  }
  if (scene_ && !render_.state.empty()) {
    scene_->mode = state_.mode;
    scene_->normalization = state_.normalization;
  } else if (scene_) {
    normalize(*scene_, setup, render_);
  }
}

void ViewRun::obtain_state(const RenderSetup& setup, const ProgressCallback& progress) {
  if (!render_.state.empty()) return;
  state_ = new_state(setup, *scene_);
  if (render_.inner_update) {
    const InputViews inputs = load_input_views(setup, render_, *scene_, progress);
    failed_.insert(failed_.end(), inputs.failed.begin(), inputs.failed.end());
    const std::int64_t views = inputs.posed.cameras.views();
    log_info("reconstructing from {} views, {} tokens", views,
             nvs::token_count(setup.config, views, setup.size.width, setup.size.height));
    const auto begin = std::chrono::steady_clock::now();
    state_.layers = setup.renderer->reconstruct(inputs.posed, nullptr, {progress, nullptr});
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    reconstruct_ms_ = took.count();
    state_.views = views;
  }
  if (paths_.save_state.empty()) return;
  nvs::save_scene_state(
      paths_.save_state, state_,
      render_.state_dtype == "bf16" ? layers::StateDtype::bfloat16 : layers::StateDtype::float32);
}

void ViewRun::dry_run(const RenderSetup& setup) {
  Json row = dry_run_row(setup, render_, scene_, 1);
  row["drag_size"] = to_string(drag_size(setup, options_));
  row.update(describe(setup, render_));
  write_stdout(dump_json(row, render_.format == "jsonl" ? -1 : 2) + "\n");
}

void ViewRun::serve(ViewServer& server, const RenderSetup& setup) {
  LiveScene& live = live_.emplace(setup, options_, state_, scene_);
  server.start({dump_json(live.describe()),
                [&](const nvs::OrbitView& view, bool draft) { return live.render(view, draft); },
                [&](std::span<const nvs::OrbitView> views) { return live.camera_file(views); }});
  const auto sink = make_stream_sink(
      "", render_.format == "jsonl" ? make_jsonl_renderer() : std::make_unique<TableRenderer>());
  Json row{{"schema", kSchema}, {"status", "serving"}, {"url", server.url()}};
  row["port"] = server.port();
  put_name(row, "scene", state_.scene);
  sink->row(row);
  while (!cancel_requested()) server.serve(std::chrono::milliseconds(100));
  server.stop();
  counts_ = {{"rendered", live.rendered()},
             {"replaced", server.counts().replaced},
             {"unreadable_pictures", failed_.size()}};
  if (live.rendered() > 0) counts_["render_ms"] = significant(live.render_milliseconds(), 6);
  sink->finish(summary(setup), true);
}

Json ViewRun::summary(const RenderSetup& setup) const {
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start_;
  Json result{{"schema", kSchema}, {"status", "summary"}, {"command", "view"}};
  put_name(result, "scene", state_.scene);
  result["mode"] = state_.mode;
  result["input_views"] = state_.views;
  result["inputs"] = scene_ ? Json(scene_->selection.inputs) : Json::array();
  if (reconstruct_ms_ > 0) result["reconstruct_ms"] = significant(reconstruct_ms_, 6);
  result["counts"] = counts_;
  const auto rendered = counts_["rendered"].get<double>();
  if (rendered > 0)
    result["render_ms_per_view"] = significant(counts_["render_ms"].get<double>() / rendered, 6);
  result["interrupted"] = cancel_requested();
  result["total_time_ms"] = significant(elapsed.count(), 6);
  result["version"] = build_info().version;
  result["commit"] = build_info().commit;
  result.update(describe(setup, render_));
  return result;
}

int ViewRun::run() {
  paths_ = resolve_paths(render_, {"scene"}).front();
  const ProgressDisplay::Settings progress = progress_settings(render_.general);
  std::optional<ViewServer> server;
  // Before the work: a port that is taken is known at once.
  if (!render_.dry_run)
    server.emplace(
        ViewServer::Settings{options_.host, static_cast<int>(options_.port), options_.allow_host});
  const RenderSetup setup = set_up(render_);
  open_scene(setup);
  if (render_.dry_run) {
    dry_run(setup);
    return 0;
  }
  drag_size(setup, options_);  // throws before the work
  announce(setup, render_);
  const bool fresh = render_.state.empty() && render_.inner_update;
  check_memory(setup, fresh ? static_cast<std::int64_t>(scene_->selection.inputs.size()) : 0, 1);
  record_ = begin_run_record(table_);
  record_.update(describe(setup, render_));
  {
    ProgressDisplay display(progress);
    obtain_state(setup, display.callback());
  }
  const bool recorded = !paths_.save_state.empty();
  if (recorded) finish_run_record(record_, paths_.save_state, "running");
  serve(*server, setup);
  record_["result"] = summary(setup);
  if (recorded) finish_run_record(record_, paths_.save_state, "complete");
  Console::instance().print_repetitions();
  // Nobody else ends it.
  return exit_code(ErrorKind::interrupted);
}

}  // namespace

int run_view(const OptionTable& table, const ViewOptions& options) {
  return ViewRun(table, options).run();
}

}  // namespace ttt::cli
