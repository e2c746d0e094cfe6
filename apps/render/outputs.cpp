// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/render/outputs.h"

#include "apps/common/run_record.h"
#include "core/atomic_file.h"
#include "core/error.h"
#include "nvs/output/metrics.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

namespace ttt::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kScene = "{scene}";

/// A scene's name as one part of a path.
std::string file_name_of(const std::string& scene) {
  std::string name = printable(scene, 100);
  for (char& c : name)
    if (c == '/' || c == '\\' || c == '{' || c == '}') c = '_';
  return name.empty() || name.find_first_not_of('.') == std::string::npos ? "scene" : name;
}

std::string expand_scene(std::string path, const std::string& scene) {
  for (std::size_t at = path.find(kScene); at != std::string::npos; at = path.find(kScene, at)) {
    path.replace(at, kScene.size(), scene);
    at += scene.size();
  }
  return path;
}

std::string lower_suffix(const std::string& path) {
  std::string suffix = fs::path(path).extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return suffix;
}

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return lower_suffix(path).empty() || fs::path(path).filename().empty() ||
         fs::is_directory(path, ignored);
}

struct Named {
  const char* flag;
  std::string RenderPaths::*path;
  const std::string RenderOptions::*option;
  const char* suffix;  // the only legal one; empty: checked elsewhere
};

constexpr Named kFiles[] = {
    {"--output", &RenderPaths::output, &RenderOptions::output, ""},
    {"--metrics", &RenderPaths::metrics, &RenderOptions::metrics, ""},
    {"--tensors", &RenderPaths::tensors, &RenderOptions::tensors, ".safetensors"},
    {"--sheet", &RenderPaths::sheet, &RenderOptions::sheet, ".png"},
    {"--rig", &RenderPaths::rig, &RenderOptions::rig, ".png"},
    {"--inner-plot", &RenderPaths::inner_plot, &RenderOptions::inner_plot, ".png"},
    {"--save-state", &RenderPaths::save_state, &RenderOptions::save_state, ".safetensors"},
    {"--save-selection", &RenderPaths::save_selection, &RenderOptions::save_selection, ".json"},
};

void check_file(const Named& file, const std::string& path, bool overwrite) {
  if (file.path == &RenderPaths::output) return;  // FrameOutput knows its names
  if (file.path == &RenderPaths::metrics) return nvs::check_metrics_path(path, overwrite);
  TTT_CHECK(lower_suffix(path) == file.suffix, usage,
            fmt::format("{} writes {} files", file.flag, file.suffix), printable(path),
            fmt::format("give a name that ends in {}", file.suffix));
  check_writable(path, overwrite);
}

/// How many pictures of a sequence are there already.
std::int64_t count_finished(const std::string& path, std::int64_t frames, std::int64_t start) {
  const bool folder = is_folder(path);
  const std::string pattern = folder ? (fs::path(path) / "{index:04}.png").string() : path;
  TTT_CHECK(folder || (lower_suffix(path) == ".png" && path.find("{index") != std::string::npos),
            usage, "only sequences of PNG files can be resumed", printable(path),
            "give --overwrite to start anew");
  std::int64_t done = 0;
  while (done < frames && fs::exists(expand_index(pattern, start + done))) ++done;
  return done;
}

/// Names of files that a run has taken.
class TakenNames {
 public:
  /// Throws Error(usage) for a name that two flags give.
  void take(const std::string& flag, const std::string& path) {
    std::error_code ignored;
    const std::string whole = fs::absolute(path, ignored).lexically_normal().string();
    const auto [entry, added] = flags_.emplace(whole, flag);
    TTT_CHECK(added, usage, fmt::format("{} and {} name the same file", entry->second, flag),
              printable(path), "give each its own");
  }

 private:
  std::map<std::string, std::string> flags_;
};

}  // namespace

std::vector<RenderPaths> resolve_paths(const RenderOptions& options,
                                       const std::vector<std::string>& scenes) {
  std::vector<RenderPaths> result;
  std::set<std::string> used;
  TakenNames taken;
  for (const std::string& scene : scenes) {
    std::string name = file_name_of(scene);
    for (int i = 2; !used.insert(name).second; ++i)
      name = file_name_of(scene) + fmt::format("-{}", i);
    RenderPaths paths;
    for (const Named& file : kFiles) {
      const std::string& pattern = options.*file.option;
      if (pattern.empty()) continue;
      const bool own = scenes.size() == 1 || pattern.find(kScene) != std::string::npos;
      TTT_CHECK(own || (file.path == &RenderPaths::output && is_folder(pattern)), usage,
                fmt::format("{} scenes would share one file", scenes.size()),
                fmt::format("{} {}", file.flag, printable(pattern)),
                "put {scene} into the name, or choose one scene with --scene N");
      paths.*file.path = own ? expand_scene(pattern, name) : (fs::path(pattern) / name).string();
      taken.take(file.flag, paths.*file.path);
      check_file(file, paths.*file.path, options.overwrite);
    }
    if (!paths.output.empty())
      taken.take("--output's run record", run_record_path(record_name(paths.output)));
    result.push_back(std::move(paths));
  }
  return result;
}

std::string record_name(const std::string& output) {
  std::string name = output;
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  return name;
}

FrameOutput::FrameOutput(std::string path, std::int64_t frames, const RenderOptions& options,
                         std::vector<PngText> texts)
    : path_(std::move(path)) {
  if (path_.empty()) return;
  if (options.resume) finished_ = count_finished(path_, frames, options.start_index);
  if (finished_ == frames) return;
  writer_ = make_frame_writer(path_, {.frames_per_second = options.fps.value_or(30.0),
                                      .first_index = options.start_index + finished_,
                                      .frames = frames - finished_,
                                      .overwrite = options.overwrite,
                                      .texts = std::move(texts)});
}

std::string FrameOutput::add(const Image& image) {
  if (!writer_) return {};
  const std::size_t before = writer_->files().size();
  writer_->add(image);
  const std::vector<fs::path> files = writer_->files();
  return files.size() > before ? files.back().string() : path_;
}

void FrameOutput::finish() {
  if (writer_) writer_->finish();
}

}  // namespace ttt::cli
