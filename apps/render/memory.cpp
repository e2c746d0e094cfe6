// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/render/memory.h"

#include "apps/common/memory.h"
#include "apps/common/text.h"
#include "nvs/model/memory_estimate.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace ttt::cli {
namespace {

/// What measuring LPIPS needs; its weights are there already.
std::int64_t perceptual_bytes(const RenderSetup& setup) {
  return setup.perceptual
             ? nvs::perceptual_memory(setup.render_size.width, setup.render_size.height)
             : 0;
}

nvs::MemoryEstimate estimate(const RenderSetup& setup, std::int64_t inputs, std::int64_t frames) {
  return nvs::estimate_memory(
      setup.config,
      {inputs, std::min(frames, views_per_call(setup)), setup.size.width, setup.size.height,
       setup.render_size.width, setup.render_size.height},
      setup.run);
}

}  // namespace

std::int64_t views_per_call(const RenderSetup& setup) {
  const std::int64_t tokens =
      nvs::token_count(setup.config, 1, setup.render_size.width, setup.render_size.height);
  return std::max<std::int64_t>(1, setup.run.tile_tokens / tokens);
}

bool reconstructs(const RenderOptions& options) {
  return options.inner_update && (options.state.empty() || options.add_views);
}

void check_memory(const RenderSetup& setup, std::int64_t inputs, std::int64_t frames) {
  if (setup.device.device.is_cuda()) return;
  const nvs::MemoryEstimate need = estimate(setup, inputs, frames);
  // The weights are there already.
  require_memory(need.peak() - need.weights + perceptual_bytes(setup),
                 fmt::format("{} views of {}", inputs, to_string(setup.size)),
                 "--views, --size, --tile",
                 "use fewer views, a smaller --size or a smaller --tile");
}

nlohmann::ordered_json dry_run_row(const RenderSetup& setup, const RenderOptions& options,
                                   const std::optional<RenderScene>& scene, std::int64_t frames) {
  const std::int64_t inputs = scene && reconstructs(options)
                                  ? static_cast<std::int64_t>(scene->selection.inputs.size())
                                  : 0;
  const nvs::MemoryEstimate need = estimate(setup, inputs, frames);
  using Json = nlohmann::ordered_json;
  Json row{{"schema", kSchema}, {"status", "dry-run"}};
  if (scene) {
    put_name(row, "scene", scene->scene.name);
    row["inputs"] = scene->selection.inputs;
    row["targets"] = scene->selection.targets;
    row["mode"] = scene->mode;
  }
  row["frames"] = frames;
  row["tokens"] = nvs::token_count(setup.config, inputs, setup.size.width, setup.size.height);
  const std::int64_t perceptual = perceptual_bytes(setup);
  row["memory_mib"] = {
      {"peak", mebibytes(need.peak() + perceptual)}, {"weights", mebibytes(need.weights)},
      {"loading", mebibytes(need.loading)},          {"inputs", mebibytes(need.inputs)},
      {"residual", mebibytes(need.residual)},        {"state", mebibytes(need.state)},
      {"reconstruct", mebibytes(need.reconstruct)},  {"render", mebibytes(need.render)}};
  if (perceptual > 0) row["memory_mib"]["lpips"] = mebibytes(perceptual);
  row["memory_available_mib"] = mebibytes(memory_available());
  return row;
}

}  // namespace ttt::cli
