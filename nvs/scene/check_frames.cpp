// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"
#include "core/inputs/paths.h"
#include "core/inputs/read_file.h"
#include "core/media/decode.h"
#include "nvs/scene/readers.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <limits>
#include <set>

namespace ttt::nvs {
namespace {

constexpr std::int64_t kMaxSide = 1'000'000;

PictureSize stored_size(const std::string& path) {
  constexpr std::size_t kHead = 1 << 20;  // enough for the header and what phones put before it
  const std::vector<std::uint8_t> head = inputs::read_head(path, kHead);
  try {
    return picture_size(head, path);
  } catch (const Error&) {
    if (head.size() < kHead) throw;
  }
  return picture_size(inputs::read_file(path), path);
}

std::string pose_problem(const Transform& pose) {
  if (!is_finite(pose)) return "its pose is not finite";
  double size = 0;
  for (const double value : pose.linear.m) size = std::max(size, std::abs(value));
  // Relative to the cube of the size, since a scaled rotation is fine.
  if (!(std::abs(determinant(pose.linear)) > 1e-6 * size * size * size))
    return "its pose can't be inverted";
  // Beyond these, sums of squares leave the range of a double.
  constexpr double kSmall = 1e-6, kLarge = 1e6, kFar = 1e15;
  const Vector3 position = inverse(pose).translation;
  if (!(size > kSmall && size < kLarge && length(pose.translation) < kFar &&
        length(position) < kFar))
    return "its pose is out of range";
  return {};
}

/// In pixels. No lens is near these limits; rays beyond them leave the range of a float, or are all
/// the same one.
std::string intrinsics_problem(const Intrinsics& k, int width, int height) {
  constexpr double kShortest = 1e-3, kLongest = 1e4, kFarthestCentre = 1e3;  // in sides
  for (const double value : {k.fx, k.fy, k.cx, k.cy})
    if (!std::isfinite(value)) return "its intrinsics are not finite";
  const double side = std::max(width, height);
  for (const double focal : {k.fx, k.fy})
    if (!(focal > kShortest * side && focal < kLongest * side))
      return fmt::format("its focal length is {:.6g} pixels, of a picture of {}x{}", focal, width,
                         height);
  if (std::max(std::abs(k.cx), std::abs(k.cy)) > kFarthestCentre * side)
    return fmt::format("its principal point is ({:.6g}, {:.6g}), of a picture of {}x{}", k.cx, k.cy,
                       width, height);
  return {};
}

std::string distortion_problem(const Distortion& lens) {
  for (const double value : lens.k)
    if (!std::isfinite(value)) return "its distortion is not finite";
  for (const double value : lens.d)
    if (!std::isfinite(value)) return "its distortion is not finite";
  for (const double value : lens.p)
    if (!std::isfinite(value)) return "its distortion is not finite";
  return {};
}

void tell_duplicates(Scene& scene) {
  std::set<std::string> seen;
  std::vector<std::string> twice;
  for (const Frame& frame : scene.frames)
    if (frame.usable() && !seen.insert(frame.path).second)
      twice.push_back(printable(frame.name, 80));
  if (!twice.empty())
    scene.warnings.push_back(fmt::format("{} frame{} the picture of an earlier one: {}",
                                         twice.size(), twice.size() == 1 ? " has" : "s have",
                                         list_names(twice)));
}

void tell_unusable(Scene& scene) {
  std::vector<std::string> names;
  for (const Frame& frame : scene.frames)
    if (!frame.usable())
      names.push_back(fmt::format("{} ({})", printable(frame.name, 80), frame.problem));
  if (names.empty()) return;
  TTT_CHECK(names.size() < scene.frames.size(), input,
            fmt::format("none of the {} frames can be used; the first, {}", names.size(), names[0]),
            printable(scene.path),
            "check that the pictures lie where the scene names them and that its poses are finite");
  scene.warnings.push_back(fmt::format("{} of {} frames can't be used: {}", names.size(),
                                       scene.frames.size(), list_names(names)));
}

}  // namespace

std::string list_names(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 10;
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i)
    out += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kMost) out += fmt::format(" and {} more", names.size() - kMost);
  return out;
}

std::string camera_problem(const Transform& world_to_camera, const Intrinsics& intrinsics,
                           int width, int height) {
  if (width <= 0 || height <= 0 || width > kMaxSide || height > kMaxSide)
    return width < 0 || height < 0 ? std::string("its width or height is out of range")
                                   : fmt::format("its size is {}x{}", width, height);
  const std::string problem = pose_problem(world_to_camera);
  return problem.empty() ? intrinsics_problem(intrinsics, width, height) : problem;
}

void attach_picture(Frame& frame, PictureFinder& finder) {
  const std::optional<std::string> path = finder.find(frame.name);
  if (!path.has_value()) {
    if (frame.problem.empty())
      frame.problem = frame.name.empty() ? "it names no picture" : "the picture was not found";
    return;
  }
  frame.path = *path;
  // A size that makes no sense is left to check_frames().
  if ((frame.width > 0 && frame.height > 0) || frame.width < 0 || frame.height < 0) return;
  try {
    const PictureSize size = stored_size(*path);
    frame.width = static_cast<int>(size.width);
    frame.height = static_cast<int>(size.height);
  } catch (const Error& error) {
    if (frame.problem.empty()) frame.problem = error.message();
  }
}

bool scale_fractional_intrinsics(Frame& frame) {
  Intrinsics& k = frame.intrinsics;
  constexpr double kMaxFraction = 10;  // 5.7 degrees of field of view
  const bool fractions = frame.width >= 32 && frame.height >= 32 && k.fx > 0 && k.fy > 0 &&
                         k.fx < kMaxFraction && k.fy < kMaxFraction && k.cx > 0 && k.cx <= 1 &&
                         k.cy > 0 && k.cy <= 1;
  if (!fractions) return false;
  k = {k.fx * frame.width, k.fy * frame.height, k.cx * frame.width, k.cy * frame.height};
  return true;
}

void check_frames(Scene& scene) {
  TTT_CHECK(!scene.frames.empty(), input, "the scene holds no frames", printable(scene.path),
            "get or export the scene again");
  TTT_CHECK(scene.frames.size() <= static_cast<std::size_t>(kMaxSide), input,
            "the scene holds more than a million frames", printable(scene.path));
  for (Frame& frame : scene.frames) {
    if (frame.problem.empty())
      frame.problem =
          camera_problem(frame.world_to_camera, frame.intrinsics, frame.width, frame.height);
    if (frame.problem.empty()) frame.problem = distortion_problem(frame.distortion);
  }
  tell_duplicates(scene);
  tell_unusable(scene);
}

void note_pictures_without_pose(Scene& scene) {
  std::set<std::string> folders;
  std::set<std::string> posed;
  for (const Frame& frame : scene.frames) {
    if (frame.path.empty()) continue;
    posed.insert(frame.path);
    folders.insert(frame.path.substr(0, frame.path.rfind('/') + 1));
  }
  std::size_t pictures = 0;
  std::size_t with_pose = 0;
  for (const std::string& folder : folders)
    for (const std::string& name : inputs::list_folder(folder)) {
      const std::string path = folder + name;
      if (inputs::is_clutter(name) || !inputs::has_picture_suffix(name)) continue;
      ++pictures;
      with_pose += posed.count(path);
    }
  if (with_pose < pictures)
    scene.notes.push_back(fmt::format("{} of {} pictures have a pose", with_pose, pictures));
}

}  // namespace ttt::nvs
