// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"
#include "core/inputs/paths.h"
#include "nvs/scene/colmap_model.h"
#include "nvs/scene/readers.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace ttt::nvs {
namespace {

bool is_model(const std::string& folder) {
  return has_binary_model(folder) || has_text_model(folder);
}

std::string parent_of(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const std::size_t slash = path.rfind('/');
  if (path.empty() || path == "." || path == "..") return inputs::join(path, "..");
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

/// Folders that may hold the pictures: names are relative to one of them.
std::vector<std::string> picture_roots(const std::string& model) {
  std::vector<std::string> roots;
  std::string folder = model;
  // From the model up: sparse/0 lies beside images, dense models hold them.
  for (int level = 0; level < 4; ++level) {
    for (const char* name : {"images", "input", "rgb", "color", "images_2", "images_4", "images_8"})
      if (const std::string root = inputs::join(folder, name); inputs::is_folder(root))
        roots.push_back(root);
    roots.push_back(folder.empty() ? "." : folder);
    folder = parent_of(folder);
  }
  return roots;
}

void check_model(const ColmapCamera& camera, std::uint32_t id, const std::string& folder) {
  TTT_CHECK(camera.model->supported, unsupported,
            fmt::format("camera {} is of model {}, which is not supported", id, camera.model->name),
            printable(folder),
            fmt::format("undistort the pictures: colmap image_undistorter --image_path images "
                        "--input_path {} --output_path undistorted --output_type COLMAP",
                        printable(folder)));
}

Frame make_frame(const ColmapImage& image, const ColmapModel& model, const std::string& folder) {
  Frame frame;
  frame.name = image.name;
  frame.camera_id = image.camera;
  const double norm = std::sqrt(dot(image.rotation, image.rotation));
  if (!(norm > 1e-6) || !std::isfinite(norm))
    frame.problem = "its rotation is not finite or zero";
  else
    frame.world_to_camera = {rotation(image.rotation), image.translation};
  const auto found = model.cameras.find(image.camera);
  if (found == model.cameras.end()) {
    frame.problem = fmt::format("camera {} is missing", image.camera);
    return frame;
  }
  const ColmapCamera& camera = found->second;
  check_model(camera, found->first, folder);
  constexpr std::uint64_t kMaxSide = 1'000'000;
  if (camera.width == 0 || camera.height == 0 || camera.width > kMaxSide ||
      camera.height > kMaxSide)
    frame.problem = fmt::format("its size is {}x{}", camera.width, camera.height);
  frame.width = static_cast<int>(std::min(camera.width, kMaxSide));
  frame.height = static_cast<int>(std::min(camera.height, kMaxSide));
  frame.intrinsics = colmap_intrinsics(camera);
  frame.distortion = colmap_distortion(camera);
  return frame;
}

/// Cameras are enough to render, so damaged points don't stop a run.
void add_points(Scene& scene) {
  try {
    ColmapPoints read = read_colmap_points(scene.path);
    scene.points = std::move(read.points);
    if (read.dropped > 0)
      scene.warnings.push_back(
          fmt::format("{} of {} points are not finite or absurdly far away, and left out",
                      read.dropped, scene.points.size() + read.dropped));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::input) throw;
    scene.warnings.push_back(fmt::format("the points are left out: {}", error.what()));
  }
}

}  // namespace

std::string find_colmap_model(const std::string& folder, std::vector<std::string>& notes) {
  for (const char* inside : {"", "sparse", "colmap/sparse", "dense/sparse"}) {
    const std::string base = inside[0] == '\0' ? folder : inputs::join(folder, inside);
    if (!inputs::is_folder(base)) continue;
    if (is_model(base)) return base;
    // sparse/0, sparse/1, …: the first need not be the good one.
    std::vector<std::pair<std::string, std::size_t>> models;
    if (inside[0] != '\0' || inputs::name_of(folder) == "sparse")
      for (const std::string& name : inputs::list_folder(base))
        if (const std::string path = inputs::join(base, name); is_model(path))
          models.emplace_back(path, 0);
    if (models.empty()) continue;
    if (models.size() == 1) return models[0].first;
    for (auto& [path, images] : models) images = count_colmap_images(path);
    const auto largest =
        std::max_element(models.begin(), models.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    notes.push_back(fmt::format("{} models; took {} with {} pictures, the largest", models.size(),
                                printable(largest->first), largest->second));
    return largest->first;
  }
  return {};
}

void read_colmap(Scene& scene, const SceneOptions& options) {
  scene.axes = "OpenCV camera axes (x right, y down, z forward), world to camera";
  const ColmapModel model = read_colmap_model(scene.path);
  if (has_binary_model(scene.path) && has_text_model(scene.path))
    scene.notes.push_back("there are binary and text files; took the binary ones");
  PictureFinder finder(picture_roots(scene.path), options.downscale);
  for (const ColmapImage& image : model.images) {
    Frame frame = make_frame(image, model, scene.path);
    attach_picture(frame, finder);
    scene.frames.push_back(std::move(frame));
  }
  std::stable_sort(scene.frames.begin(), scene.frames.end(), [](const Frame& a, const Frame& b) {
    return inputs::natural_less(a.name, b.name);
  });
  if (const auto summary = finder.summary()) scene.warnings.push_back(*summary);
  add_points(scene);
}

}  // namespace ttt::nvs
