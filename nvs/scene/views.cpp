// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/scene/views.h"

#include "core/cancel.h"
#include "core/inputs/read_file.h"
#include "core/media/alpha.h"
#include "core/media/decode.h"
#include "core/media/orientation.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <thread>

namespace ttt::nvs {
namespace {

constexpr int kMaxTarget = 1 << 14;

/// Posed photographs stay as they are stored, since the poses are of the stored pixels. Only when
/// the declared size is the stored one lying on its side were the poses made from upright pictures.
bool turned_by_scene(const Frame& frame, const Image& stored, int orientation) {
  if (orientation < 5 || stored.width == stored.height) return false;
  const auto fits = [&](double width, double height) {
    const double ratio = (frame.width / static_cast<double>(frame.height)) / (width / height);
    return ratio > 0.98 && ratio < 1.02;
  };
  return !fits(stored.width, stored.height) && fits(stored.height, stored.width);
}

/// Whether a picture is another size of the declared one, up to the rounding of its sides.
bool same_shape(const Frame& frame, int width, int height) {
  const double ratio = static_cast<double>(width) * frame.height / frame.width;
  return std::abs(ratio - height) <= std::max(1.0, 0.02 * height) ||
         std::abs(height / ratio * width - width) <= 1;
}

Intrinsics scaled(const Intrinsics& k, double x, double y) {
  return {k.fx * x, k.fy * y, k.cx * x, k.cy * y};
}

/// From the declared size to the stored one.
Intrinsics stored_intrinsics(const Frame& frame, int width, int height) {
  if (width == frame.width && height == frame.height) return frame.intrinsics;
  return scaled(frame.intrinsics, static_cast<double>(width) / frame.width,
                static_cast<double>(height) / frame.height);
}

/// What the official loader drops: it composites RGBA only.
bool alpha_dropped(PixelKind kind, const ViewOptions& options) {
  return options.reference_compat && kind != PixelKind::rgba && kind != PixelKind::grey_alpha;
}

Image resize_picture(AlphaImage picture, PixelKind kind, const CropPlan& plan,
                     const ViewOptions& options) {
  if (alpha_dropped(kind, options)) picture.alpha.clear();
  if (options.reference_compat && kind == PixelKind::palette)
    return resize_window_nearest(picture.colour, plan.width, plan.height, plan.window);
  AlphaImage out =
      resize_window(picture, plan.width, plan.height, plan.window, ResizeFilter::lanczos3);
  if (options.reference_compat && kind == PixelKind::grey_alpha) return std::move(out.colour);
  return over_white(std::move(out));
}

void check_target(const ViewOptions& options) {
  TTT_CHECK(options.width > 0 && options.height > 0 && options.width <= kMaxTarget &&
                options.height <= kMaxTarget,
            usage, fmt::format("size {}x{} is out of range", options.width, options.height),
            "--size", fmt::format("give sides from 1 to {}", kMaxTarget));
}

}  // namespace

View load_view(const Frame& frame, int index, const ViewOptions& options) {
  check_target(options);
  TTT_CHECK(frame.usable(), input, frame.problem, printable(frame.name));
  StoredImage stored = decode_stored_image(inputs::read_file(frame.path), frame.path);
  AlphaImage picture = std::move(stored.picture);
  if (turned_by_scene(frame, picture.colour, stored.orientation))
    picture = apply_orientation(std::move(picture), stored.orientation);
  const int width = picture.colour.width;
  const int height = picture.colour.height;
  // The official loader doesn't look at the declared size.
  TTT_CHECK(options.reference_compat || same_shape(frame, width, height), input,
            fmt::format("the picture has {}x{} pixels, and its camera is for {}x{}: another shape",
                        width, height, frame.width, frame.height),
            printable(frame.path),
            "take the pictures that the cameras were made for, or correct width and height");
  Intrinsics k = stored_intrinsics(frame, width, height);
  PixelKind kind = stored.kind;
  if (!frame.distortion.identity()) {
    const UndistortPlan plan =
        plan_undistortion(frame.distortion, k, width, height, options.reference_compat, frame.name);
    picture = undistort_picture(picture, frame.distortion, plan, options.reference_compat);
    k = plan.undistorted;
    if (kind == PixelKind::palette) kind = PixelKind::rgb;
  }
  const CropPlan plan = plan_crop(width, height, options.width, options.height);
  View view;
  view.index = index;
  view.image = resize_picture(std::move(picture), kind, plan, options);
  view.camera = {inverse(frame.world_to_camera), crop_intrinsics(k, plan), options.width,
                 options.height};
  return view;
}

Camera view_camera(const Frame& frame, const ViewOptions& options) {
  check_target(options);
  const Intrinsics k = plan_undistortion(frame.distortion, frame.intrinsics, frame.width,
                                         frame.height, options.reference_compat, frame.name)
                           .undistorted;
  const CropPlan plan = plan_crop(frame.width, frame.height, options.width, options.height);
  return {inverse(frame.world_to_camera), crop_intrinsics(k, plan), options.width, options.height};
}

std::vector<View> load_views(const Scene& scene, std::span<const int> indices,
                             const ViewOptions& options, const ProgressCallback& callback) {
  check_target(options);
  for (const int index : indices)
    TTT_CHECK(index >= 0 && static_cast<std::size_t>(index) < scene.frames.size(), usage,
              fmt::format("there is no view {}; the scene has {}", index, scene.frames.size()),
              printable(scene.path), "views count from 0");
  std::vector<View> views(indices.size());
  std::atomic<std::size_t> next{0}, loaded{0};
  Progress progress("load views", static_cast<std::int64_t>(indices.size()), callback);
  const auto work = [&] {
    for (std::size_t i = next++; i < indices.size() && !cancel_requested(); i = next++) {
      const int index = indices[i];
      const Frame& frame = scene.frames[static_cast<std::size_t>(index)];
      try {
        views[i] = load_view(frame, index, options);
      } catch (const Error& error) {
        views[i] = {index, {}, {}, error};
      } catch (const std::exception& error) {
        views[i] = {index, {}, {}, Error(ErrorKind::memory, error.what(), printable(frame.name))};
      }
      ++loaded;
      progress.advance();
    }
  };
  const std::size_t wanted = options.workers > 0
                                 ? static_cast<std::size_t>(options.workers)
                                 : std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < std::min(wanted, indices.size()); ++i) threads.emplace_back(work);
  work();
  threads.clear();
  TTT_CHECK(loaded == indices.size(), interrupted, "interrupted while views were loaded");
  return views;
}

std::vector<float> to_planes(const Image& image) {
  const std::size_t plane = image.rgb.size() / 3;
  std::array<float, 256> table;
  for (std::size_t value = 0; value < table.size(); ++value)
    table[value] = static_cast<float>(value) / 255.0F;
  std::vector<float> out(3 * plane);
  for (std::size_t i = 0; i < plane; ++i)
    for (std::size_t c = 0; c < 3; ++c) out[c * plane + i] = table[image.rgb[3 * i + c]];
  return out;
}

Image from_planes(std::span<const float> planes, int width, int height) {
  const std::size_t plane = planes.size() / 3;
  TTT_CHECK(
      width > 0 && height > 0 &&
          planes.size() == 3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height),
      internal, "planes and picture differ in size");
  Image out{width, height, {}};
  out.rgb.resize(planes.size());
  for (std::size_t i = 0; i < plane; ++i)
    for (std::size_t c = 0; c < 3; ++c) {
      const float value = planes[c * plane + i] * 255.0F;
      // Also false for what is not a number.
      out.rgb[3 * i + c] =
          value > 0.0F ? static_cast<std::uint8_t>(std::min(value, 255.0F)) : std::uint8_t{0};
    }
  return out;
}

}  // namespace ttt::nvs
