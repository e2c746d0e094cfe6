// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/procedural/export_scene.h"

#include "core/atomic_file.h"
#include "core/media/encode_png.h"
#include "nvs/procedural/ray_caster.h"

#include <nlohmann/json.hpp>
#include <spdlog/fmt/fmt.h>

namespace ttt::nvs {
namespace {

using Json = nlohmann::ordered_json;

/// Rows of camera-to-world with OpenGL's axes, as the format wants them: y and z change sign.
Json opengl_rows(const Transform& camera_to_world) {
  const std::array<double, 16> m = matrix4(camera_to_world);
  Json rows = Json::array();
  for (std::size_t i = 0; i < 4; ++i) {
    const double sign = i < 3 ? -1 : 1;
    rows.push_back({m[4 * i], sign * m[4 * i + 1], sign * m[4 * i + 2], m[4 * i + 3]});
  }
  return rows;
}

}  // namespace

void export_procedural_scene(const std::filesystem::path& folder, std::uint64_t seed, int views,
                             int width, int height, const ProceduralOptions& options) {
  const RayCaster caster(procedural_scene(seed, options));
  Json frames = Json::array();
  Intrinsics k;
  for (int i = 0; i < views; ++i) {
    const Camera camera = procedural_camera(seed, i, width, height, options);
    k = camera.intrinsics;
    const std::string file = fmt::format("images/view_{:03}.png", i);
    write_file(folder / file, encode_png(caster.render(camera)));
    frames.push_back(
        {{"file_path", file}, {"transform_matrix", opengl_rows(camera.camera_to_world)}});
  }
  const Json scene{{"w", width}, {"h", height}, {"fl_x", k.fx},    {"fl_y", k.fy},
                   {"cx", k.cx}, {"cy", k.cy},  {"frames", frames}};
  write_file(folder / "transforms.json", scene.dump(1) + "\n");
}

}  // namespace ttt::nvs
