// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvs/scene/picture_finder.h"
#include "nvs/scene/scene.h"

#include <vector>

/// The readers of single formats and what they share. Private to nvs/scene.
namespace ttt::nvs {

/// Each fills frames (with problems), axes and notes; path, name and format are set already.
void read_lact(Scene& scene, const SceneOptions& options);
void read_transforms(Scene& scene, const SceneOptions& options);
void read_colmap(Scene& scene, const SceneOptions& options);

/// The camera files of one transforms.json scene: itself, or its siblings of the other splits.
std::vector<std::pair<std::string, Split>> transforms_files(const std::string& path);

/// The largest COLMAP model at or below a folder, or empty. Tells in `notes` when there are
/// several.
std::string find_colmap_model(const std::string& folder, std::vector<std::string>& notes);

/// Finds the frame's picture and sets `path`, or a problem. When the scene doesn't tell the size,
/// takes that of the stored picture.
void attach_picture(Frame& frame, PictureFinder& finder);

/// Fractions of the picture's size, as some data sets write intrinsics, become pixels. True if so.
bool scale_fractional_intrinsics(Frame& frame);

/// Why no picture of this size can be of such a camera (its pose or its intrinsics are not finite
/// or beyond all measure), or empty.
std::string camera_problem(const Transform& world_to_camera, const Intrinsics& intrinsics,
                           int width, int height);

/// Gives a problem to frames whose pose or intrinsics are not finite or make no sense, tells
/// duplicates, counts and names what can't be used, and throws Error(input) when nothing is left.
void check_frames(Scene& scene);

/// "a, b, c and 4 more": at most ten names.
std::string list_names(const std::vector<std::string>& names);

/// Says how many pictures of the folders that hold the scene's pictures have no pose.
void note_pictures_without_pose(Scene& scene);

}  // namespace ttt::nvs
