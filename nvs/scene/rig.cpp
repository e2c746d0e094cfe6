// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/scene/rig.h"

#include "core/error.h"
#include "nvs/cameras/normalization.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numbers>

namespace ttt::nvs {
namespace {

constexpr double kDegrees = 180 / std::numbers::pi;

Range range_of(const std::vector<double>& values) {
  Range range{std::numeric_limits<double>::infinity(), 0, -std::numeric_limits<double>::infinity()};
  for (const double value : values) {
    range.min = std::min(range.min, value);
    range.max = std::max(range.max, value);
    range.mean += value / static_cast<double>(values.size());
  }
  return range;
}

/// Beyond a few thousand cameras a part of them tells enough.
Range baseline_of(const std::vector<Camera>& cameras) {
  constexpr std::size_t kMost = 2000;
  const std::size_t step = cameras.size() / kMost + 1;
  std::vector<double> nearest;
  for (std::size_t i = 0; i < cameras.size(); i += step) {
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < cameras.size(); ++j)
      if (j != i) best = std::min(best, length(cameras[j].position() - cameras[i].position()));
    nearest.push_back(best);
  }
  return cameras.size() < 2 ? Range{} : range_of(nearest);
}

double azimuth_coverage(std::vector<double> azimuths) {
  std::sort(azimuths.begin(), azimuths.end());
  // Cameras above each other count once.
  const auto same = [](double a, double b) { return b - a < 0.1; };
  azimuths.erase(std::unique(azimuths.begin(), azimuths.end(), same), azimuths.end());
  if (azimuths.size() < 2) return 0;
  double gap = azimuths.front() + 360 - azimuths.back();
  for (std::size_t i = 1; i < azimuths.size(); ++i)
    gap = std::max(gap, azimuths[i] - azimuths[i - 1]);
  // Cameras all around leave only their own spacing open.
  const double coverage = 360 - gap;
  return gap < 2 * 360.0 / static_cast<double>(azimuths.size()) ? 360 : coverage;
}

void describe_lenses(const Scene& scene, RigSummary& rig) {
  std::map<std::pair<int, int>, int> sizes;
  std::vector<const Frame*> lenses;
  std::vector<double> horizontal;
  std::vector<double> vertical;
  for (const Frame& frame : scene.frames) {
    if (!frame.usable()) continue;
    ++sizes[{frame.width, frame.height}];
    rig.distorted += frame.distortion.identity() ? 0 : 1;
    constexpr std::size_t kMostLenses = 64;
    const bool known = lenses.size() >= kMostLenses ||
                       std::any_of(lenses.begin(), lenses.end(), [&](const Frame* lens) {
                         return lens->intrinsics == frame.intrinsics &&
                                lens->distortion == frame.distortion &&
                                lens->width == frame.width && lens->height == frame.height;
                       });
    if (!known) lenses.push_back(&frame);
    const Camera camera{{}, frame.intrinsics, frame.width, frame.height};
    horizontal.push_back(horizontal_field_of_view(camera));
    vertical.push_back(vertical_field_of_view(camera));
  }
  rig.lenses = static_cast<int>(lenses.size());
  rig.horizontal_fov = range_of(horizontal);
  rig.vertical_fov = range_of(vertical);
  rig.mixed_sizes = sizes.size() > 1;
  int most = 0;
  for (const auto& [size, count] : sizes)
    if (count > most) {
      most = count;
      rig.width = size.first;
      rig.height = size.second;
    }
}

/// The value that a share `part` of the values doesn't exceed.
double quantile(std::vector<double>& values, double part) {
  const auto at = static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

void describe_points(const Scene& scene, const std::vector<Camera>& cameras, RigSummary& rig) {
  rig.points = scene.points.size();
  if (scene.points.empty()) return;
  for (double Vector3::*axis : {&Vector3::x, &Vector3::y, &Vector3::z}) {
    std::vector<double> values;
    for (const ScenePoint& point : scene.points) values.push_back(point.position.*axis);
    rig.points_low.*axis = quantile(values, 0.05);
    rig.points_middle.*axis = quantile(values, 0.5);
    rig.points_high.*axis = quantile(values, 0.95);
  }
  for (const ScenePoint& point : scene.points)
    rig.views_per_point +=
        static_cast<double>(point.views) / static_cast<double>(scene.points.size());
  for (const Camera& camera : cameras)
    rig.points_ahead += dot(rig.points_middle - camera.position(), camera.forward()) > 0
                            ? 1.0 / static_cast<double>(cameras.size())
                            : 0;
}

void describe_positions(const std::vector<Camera>& cameras, RigSummary& rig) {
  rig.low = rig.high = cameras.front().position();
  for (const Camera& camera : cameras) {
    const Vector3 p = camera.position();
    rig.low = {std::min(rig.low.x, p.x), std::min(rig.low.y, p.y), std::min(rig.low.z, p.z)};
    rig.high = {std::max(rig.high.x, p.x), std::max(rig.high.y, p.y), std::max(rig.high.z, p.z)};
  }
  rig.baseline = baseline_of(cameras);
  rig.up = mean_up(cameras);
  if (cameras.size() > 1) rig.center = axes_center(cameras);
  rig.center_of_points = !rig.center.has_value() && rig.points > 0;
  if (rig.center_of_points) rig.center = rig.points_middle;
  if (!rig.center.has_value()) return;
  const Vector3 side = any_perpendicular(rig.up);
  const Vector3 other = cross(rig.up, side);
  std::vector<double> radii, elevations, azimuths;
  for (const Camera& camera : cameras) {
    const Vector3 p = camera.position() - *rig.center;
    const double radius = length(p);
    radii.push_back(radius);
    elevations.push_back(
        radius > 0 ? std::asin(std::clamp(dot(p, rig.up) / radius, -1.0, 1.0)) * kDegrees : 0);
    azimuths.push_back(std::atan2(dot(p, other), dot(p, side)) * kDegrees);
    rig.facing += dot(-p, camera.forward()) > 0 ? 1.0 / static_cast<double>(cameras.size()) : 0;
  }
  rig.radius = range_of(radii);
  rig.elevation = range_of(elevations);
  rig.azimuth_coverage = azimuth_coverage(azimuths);
}

/// The largest deviation of a pose's axes from a rotation, and whether any is left-handed.
void warn_about_axes(const std::vector<Camera>& cameras, std::vector<std::string>& warnings) {
  int skewed = 0, mirrored = 0;
  for (const Camera& camera : cameras) {
    const Matrix3& m = camera.camera_to_world.linear;
    const Matrix3 product = transpose(m) * m;
    const double scale = (product.m[0] + product.m[4] + product.m[8]) / 3;
    double worst = 0;
    for (std::size_t i = 0; i < 9; ++i)
      worst = std::max(worst, std::abs(product.m[i] / scale - (i % 4 == 0 ? 1 : 0)));
    skewed += worst > 1e-2 ? 1 : 0;
    mirrored += determinant(m) < 0 ? 1 : 0;
  }
  if (skewed > 0)
    warnings.push_back(
        fmt::format("{} poses are not rotations (their axes are not perpendicular or "
                    "differ in length)",
                    skewed));
  if (mirrored > 0)
    warnings.push_back(fmt::format(
        "{} poses are mirrored (left-handed axes): pictures will come out wrong", mirrored));
}

void warn_about_lenses(const Scene& scene, const RigSummary& rig,
                       std::vector<std::string>& warnings) {
  constexpr double kNarrow = 5, kWide = 140;
  if (rig.horizontal_fov.min < kNarrow || rig.horizontal_fov.max > kWide)
    warnings.push_back(
        fmt::format("a horizontal field of view from {:.3g} to {:.3g} degrees is "
                    "unusual: are the focal lengths in pixels of the stated size?",
                    rig.horizontal_fov.min, rig.horizontal_fov.max));
  int decentred = 0, stretched = 0;
  for (const Frame& frame : scene.frames) {
    if (!frame.usable()) continue;
    const Intrinsics& k = frame.intrinsics;
    decentred +=
        std::abs(k.cx / frame.width - 0.5) > 0.25 || std::abs(k.cy / frame.height - 0.5) > 0.25;
    stretched += k.fx / k.fy > 1.5 || k.fy / k.fx > 1.5;
  }
  if (decentred > 0)
    warnings.push_back(fmt::format(
        "the principal point of {} frames is far from the picture's centre: are width and height "
        "swapped, or the intrinsics of another size?",
        decentred));
  if (stretched > 0)
    warnings.push_back(fmt::format(
        "fx and fy of {} frames differ by more than half: are the pixels not square?", stretched));
}

void warn_about_positions(const RigSummary& rig, std::vector<std::string>& warnings) {
  const double extent = length(rig.high - rig.low);
  const double far = std::max(length(rig.high), length(rig.low));
  if (rig.usable > 1 && !(extent > 1e-9 * std::max(far, 1e-300)))
    warnings.push_back("all cameras are at the same place: there is no depth to see");
  else if (extent > 0 && far > 1e5 * extent)
    warnings.push_back(
        "the cameras are far from the origin compared with their distances, which "
        "costs digits: are the coordinates geographic?");
  // A rig that looks at its middle, with its view axis turned round, looks away from it.
  if (rig.center.has_value() && rig.facing < 0.2 && rig.usable > 2)
    warnings.push_back(
        "nearly all cameras look away from the point that they have in common: if "
        "the capture isn't outward, the axes may be OpenGL's taken for OpenCV's");
}

/// Nearly no camera sees the middle of what all of them were computed from.
void warn_about_points(const RigSummary& rig, std::vector<std::string>& warnings) {
  if (rig.points > 0 && rig.usable > 2 && rig.points_ahead < 0.2)
    warnings.push_back(
        "nearly all cameras look away from the points of the sparse model: are they of another "
        "model, or of another world?");
}

/// Rounding errors beside `scale` are shown as 0.
std::string text_of(const Vector3& v, double scale) {
  const auto shown = [&](double value) { return std::abs(value) < 1e-6 * scale ? 0.0 : value; };
  return fmt::format("({:.3g}, {:.3g}, {:.3g})", shown(v.x), shown(v.y), shown(v.z));
}

std::string text_of(const Range& range) {
  return range.max - range.min < 1e-3 * std::abs(range.max)
             ? fmt::format("{:.4g}", range.mean)
             : fmt::format("{:.4g} to {:.4g}, mean {:.4g}", range.min, range.max, range.mean);
}

}  // namespace

std::vector<Camera> rig_cameras(const Scene& scene) {
  std::vector<Camera> cameras;
  for (const Frame& frame : scene.frames)
    if (frame.usable())
      cameras.push_back(
          {inverse(frame.world_to_camera), frame.intrinsics, frame.width, frame.height});
  return cameras;
}

RigSummary summarize_rig(const Scene& scene) {
  const std::vector<Camera> cameras = rig_cameras(scene);
  TTT_CHECK(!cameras.empty(), internal, "a rig without cameras");
  RigSummary rig;
  rig.scene = scene.name;
  rig.format = to_string(scene.format);
  rig.axes = scene.axes;
  rig.frames = static_cast<int>(scene.frames.size());
  rig.usable = static_cast<int>(cameras.size());
  describe_lenses(scene, rig);
  describe_points(scene, cameras, rig);
  describe_positions(cameras, rig);
  warn_about_lenses(scene, rig, rig.warnings);
  warn_about_axes(cameras, rig.warnings);
  warn_about_positions(rig, rig.warnings);
  warn_about_points(rig, rig.warnings);
  return rig;
}

std::string rig_text(const RigSummary& rig) {
  const double scale = std::max({length(rig.low), length(rig.high), rig.radius.max});
  std::string out = fmt::format("scene      {} ({})\n", printable(rig.scene), rig.format);
  out += fmt::format("axes       {}\n", rig.axes);
  out += fmt::format("frames     {} of {} usable, {}x{}{}, {} lens{}\n", rig.usable, rig.frames,
                     rig.width, rig.height, rig.mixed_sizes ? " (sizes differ)" : "", rig.lenses,
                     rig.lenses == 1 ? "" : "es");
  if (rig.distorted > 0)
    out += fmt::format("distortion {} frames, undone when they are loaded\n", rig.distorted);
  out += fmt::format("view angle {} degrees wide, {} high\n", text_of(rig.horizontal_fov),
                     text_of(rig.vertical_fov));
  out += fmt::format("positions  {} to {} scene units, up {}\n", text_of(rig.low, scale),
                     text_of(rig.high, scale), text_of(rig.up, 1));
  if (rig.usable > 1)
    out += fmt::format("baseline   {} to the nearest camera\n", text_of(rig.baseline));
  if (rig.center.has_value()) {
    out += fmt::format("centre     {}{}, distance {}; {:.0f} % of the cameras face it\n",
                       text_of(*rig.center, scale), rig.center_of_points ? " (of the points)" : "",
                       text_of(rig.radius), 100 * rig.facing);
    out += fmt::format("coverage   {:.0f} degrees around, elevation {:.0f} to {:.0f} degrees\n",
                       rig.azimuth_coverage, std::round(rig.elevation.min) + 0.0,
                       std::round(rig.elevation.max) + 0.0);
  } else if (rig.usable > 1) {
    out += "centre     none: the optical axes are parallel\n";
  }
  if (rig.points > 0)
    out += fmt::format(
        "points     {}, each in {:.3g} pictures; nine tenths from {} to {}, middle {}\n",
        rig.points, rig.views_per_point, text_of(rig.points_low, scale),
        text_of(rig.points_high, scale), text_of(rig.points_middle, scale));
  for (const std::string& warning : rig.warnings) out += "warning    " + warning + "\n";
  out.pop_back();
  return out;
}

std::vector<std::string> object_mode_warnings(const RigSummary& rig) {
  std::vector<std::string> out;
  if (!rig.center.has_value() || rig.facing < 0.5) {
    out.push_back("the cameras don't look at one object: use the scene mode");
    return out;
  }
  const double offset = length(*rig.center);
  if (offset > 0.25 * rig.radius.mean)
    out.push_back(fmt::format("the object is {:.3g} away from the origin", offset));
  if (rig.radius.mean < 1.3 || rig.radius.mean > 5.4)
    out.push_back(
        fmt::format("the cameras are {:.3g} away from the object, not about 2.7", rig.radius.mean));
  if (rig.up.z < 0.7) out.push_back(fmt::format("up is {}, not z", text_of(rig.up, 1)));
  if (rig.horizontal_fov.mean < 30 || rig.horizontal_fov.mean > 75)
    out.push_back(
        fmt::format("the field of view is {:.3g} degrees, not about 50", rig.horizontal_fov.mean));
  return out;
}

}  // namespace ttt::nvs
