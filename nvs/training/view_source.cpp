// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/training/view_source.h"

#include "core/error.h"
#include "core/log.h"
#include "nvs/procedural/ray_caster.h"
#include "nvs/scene/selection.h"
#include "nvs/scene/views.h"
#include "training/random.h"

#include <algorithm>
#include <utility>

namespace ttt::nvs {
namespace {

class ProceduralSource : public ViewSource {
 public:
  ProceduralSource(int width, int height, const ProceduralOptions& options)
      : width_(width), height_(height), options_(options) {}

  SceneViews sample(std::uint64_t seed, int count) const override {
    return procedural_views(seed, count, width_, height_, options_);
  }
  std::string description() const override { return "procedural"; }

 private:
  int width_, height_;
  ProceduralOptions options_;
};

/// The frames that can be read, in order.
SceneViews loaded_views(const Scene& scene, std::span<const int> indices,
                        const SceneFileOptions& options) {
  SceneViews result;
  for (View& view :
       load_views(scene, indices,
                  {.width = options.width, .height = options.height, .workers = options.workers})) {
    if (view.error) {
      log_warning("left out: {}", view.error->what());
      continue;
    }
    result.images.push_back(std::move(view.image));
    result.cameras.push_back(view.camera);
  }
  return result;
}

std::vector<int> training_frames(const Scene& scene, int held_out_every) {
  const std::vector<int> usable = scene.usable();
  const auto is_training = [&](int i) {
    return scene.frames[static_cast<std::size_t>(i)].split == Split::train;
  };
  const bool split = std::any_of(usable.begin(), usable.end(), is_training);
  std::vector<int> result;
  for (std::size_t i = 0; i < usable.size(); ++i) {
    const bool held_out =
        split ? !is_training(usable[i])
              : held_out_every > 0 && i % static_cast<std::size_t>(held_out_every) == 0;
    if (!held_out) result.push_back(usable[i]);
  }
  return result;
}

class SceneFileSource : public ViewSource {
 public:
  SceneFileSource(std::string path, const SceneFileOptions& options) : path_(std::move(path)) {
    for (const SceneLocation& location : find_scenes(path_)) {
      const Scene scene = read_scene(location);
      scenes_.push_back(
          loaded_views(scene, training_frames(scene, options.held_out_every), options));
      const std::size_t count = scenes_.back().images.size();
      TTT_CHECK(count >= static_cast<std::size_t>(options.views), input,
                fmt::format("the scene has {} views to train on, and a sample takes {}", count,
                            options.views),
                printable(location.path), "lower --input-views or --target-views");
      views_ += count;
    }
  }

  SceneViews sample(std::uint64_t seed, int count) const override {
    training::Random random(seed);
    const SceneViews& scene =
        scenes_[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(scenes_.size())))];
    std::vector<std::size_t> order(scene.images.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    SceneViews result;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      const auto left = static_cast<std::int64_t>(order.size() - i);
      std::swap(order[i], order[i + static_cast<std::size_t>(random.below(left))]);
      result.images.push_back(scene.images[order[i]]);
      result.cameras.push_back(scene.cameras[order[i]]);
    }
    return result;
  }

  std::string description() const override {
    return fmt::format("{} scenes, {} views", scenes_.size(), views_);
  }

 private:
  std::string path_;
  std::vector<SceneViews> scenes_;
  std::size_t views_ = 0;
};

class MixedSource : public ViewSource {
 public:
  explicit MixedSource(std::vector<WeightedSource> sources) : sources_(std::move(sources)) {
    for (const WeightedSource& one : sources_) {
      TTT_CHECK(one.weight >= 0, usage, "a source has a negative weight", "--data-weights",
                "use numbers from 0");
      sum_ += one.weight;
    }
    TTT_CHECK(sum_ > 0, usage, "no source of scenes has a weight above 0", "--data-weights",
              "give one number above 0");
  }

  SceneViews sample(std::uint64_t seed, int count) const override {
    training::Random random(seed);
    double at = random.uniform() * sum_;
    const std::uint64_t inner = random.next();
    for (const WeightedSource& one : sources_) {
      if (at < one.weight) return one.source->sample(inner, count);
      at -= one.weight;
    }
    return sources_.back().source->sample(inner, count);
  }

  std::string description() const override {
    if (sources_.size() == 1) return sources_.front().source->description();
    std::string text;
    for (const WeightedSource& one : sources_)
      text += fmt::format("{}{} x {}", text.empty() ? "" : " + ", one.weight,
                          one.source->description());
    return text;
  }

 private:
  std::vector<WeightedSource> sources_;
  double sum_ = 0;
};

}  // namespace

std::unique_ptr<ViewSource> procedural_source(int width, int height,
                                              const ProceduralOptions& options) {
  return std::make_unique<ProceduralSource>(width, height, options);
}

std::unique_ptr<ViewSource> scene_file_source(const std::string& path,
                                              const SceneFileOptions& options) {
  return std::make_unique<SceneFileSource>(path, options);
}

std::unique_ptr<ViewSource> mixed_source(std::vector<WeightedSource> sources) {
  return std::make_unique<MixedSource>(std::move(sources));
}

SceneViews procedural_views(std::uint64_t seed, int count, int width, int height,
                            const ProceduralOptions& options) {
  const RayCaster caster(procedural_scene(seed, options));
  SceneViews result;
  for (int i = 0; i < count; ++i) {
    result.cameras.push_back(procedural_camera(seed, i, width, height, options));
    result.images.push_back(caster.render(result.cameras.back()));
  }
  return result;
}

SceneViews evaluation_views(const std::string& path, int inputs, int targets,
                            const SceneFileOptions& options) {
  const Scene scene = read_scene(path);
  const auto is_test = [](const Frame& frame) { return frame.split == Split::test; };
  const bool split = std::any_of(scene.frames.begin(), scene.frames.end(), is_test);
  ViewSelection selection =
      select_views(scene, {.input_count = inputs,
                           .targets = split ? TargetChoice::split : TargetChoice::every_nth,
                           .every_nth = options.held_out_every > 0 ? options.held_out_every : 8});
  std::vector<int> indices = selection.inputs;
  TTT_CHECK(static_cast<int>(indices.size()) == inputs &&
                static_cast<int>(selection.targets.size()) >= targets,
            input,
            fmt::format("the scene has {} input and {} target views, and {} and {} are measured",
                        indices.size(), selection.targets.size(), inputs, targets),
            printable(path), "lower --input-views or --target-views");
  indices.insert(indices.end(), selection.targets.begin(), selection.targets.begin() + targets);
  SceneViews result = loaded_views(scene, indices, options);
  TTT_CHECK(result.images.size() == indices.size(), input,
            "views of the scene can't be read (see the warnings)", printable(path),
            "leave it out of --validation");
  return result;
}

}  // namespace ttt::nvs
