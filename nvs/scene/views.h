// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/error.h"
#include "core/media/image.h"
#include "core/progress.h"
#include "nvs/cameras/crop.h"
#include "nvs/scene/scene.h"

#include <optional>
#include <span>
#include <vector>

namespace ttt::nvs {

struct ViewOptions {
  int width = 256;
  int height = 256;
  /// As the official loader and its DL3DV conversion do it: lens matrices are not shifted by half a
  /// pixel, grey with alpha and transparent colours lose their alpha, pictures with a palette are
  /// scaled without a filter. Declared sizes stay in force, unlike there.
  bool reference_compat = false;
  int workers = 0;  ///< decoding threads; 0: as many as there are processors
};

/// A picture as the model sees it, with its camera in the scene's world.
struct View {
  int index = 0;  ///< of the frame
  Image image;    ///< options.width x options.height, alpha put over white
  Camera camera;
  std::optional<Error> error;  ///< why there is no picture
};

/// Reads one frame: decodes it (EXIF orientation only where the declared size asks for it), scales
/// the matrix from the declared to the stored size, undoes the lens distortion, scales and cuts
/// with Lanczos, and puts it over white. Throws Error.
View load_view(const Frame& frame, int index, const ViewOptions& options);

/// The camera that load_view() gives, without the picture: exact as long as the stored picture has
/// the declared size. For cameras at which a frame's picture is only a target.
Camera view_camera(const Frame& frame, const ViewOptions& options);

/// Loads frames in worker threads, in the order of `indices`. A frame that can't be loaded has its
/// `error`. Stops early with Error(interrupted) when cancellation was requested.
std::vector<View> load_views(const Scene& scene, std::span<const int> indices,
                             const ViewOptions& options, const ProgressCallback& progress = {});

/// [3,H,W] in 0 to 1, as the model takes it: value / 255 in float.
std::vector<float> to_planes(const Image& image);
/// The way back, as the official code writes pictures: trunc(clip(255 x, 0, 255)) in float. Values
/// that are not numbers become 0.
Image from_planes(std::span<const float> planes, int width, int height);

/// The distorted picture as a pinhole camera of the plan's new matrix sees it: source positions
/// rounded to 1/32 pixel, bilinear, black (or transparent) outside.
AlphaImage undistort_picture(const AlphaImage& picture, const Distortion& lens,
                             const UndistortPlan& plan, bool reference_compat);

}  // namespace ttt::nvs
