// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"
#include "core/media/drawing.h"
#include "nvs/cameras/normalization.h"
#include "nvs/scene/rig.h"

#include <opencv2/imgproc.hpp>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <limits>

namespace ttt::nvs {
namespace {

constexpr int kPanel = 640;  // pixels a side
constexpr int kMargin = 60;
constexpr int kCaption = 70;  // below the panels

const cv::Scalar kInput(30, 80, 220), kTarget(215, 45, 40), kOther(150, 150, 150);
const cv::Scalar kGrid(228, 228, 228);
const cv::Scalar& kInk = drawing::kInk;

/// A look along one direction: the picture's x and y in the world.
struct Projection {
  Vector3 right, up;
  Vector3 middle;
  double pixels_per_unit = 1;
  int left = 0;  // of the panel

  cv::Point2d operator()(const Vector3& p) const {
    const Vector3 d = p - middle;
    return {left + kPanel / 2.0 + pixels_per_unit * dot(d, right),
            kPanel / 2.0 - pixels_per_unit * dot(d, up)};
  }
};

/// A coordinate that OpenCV can take, also for what lies far outside.
int pixel(double position) {
  constexpr double kFar = 1e6;
  return static_cast<int>(std::lround(std::clamp(position, -kFar, kFar)));
}

void draw_line(cv::Mat& canvas, const cv::Point2d& a, const cv::Point2d& b,
               const cv::Scalar& colour, int thickness = 1) {
  constexpr int kShift = 4;  // sub-pixel positions
  const auto fixed = [](const cv::Point2d& p) {
    return cv::Point(pixel(p.x * (1 << kShift)), pixel(p.y * (1 << kShift)));
  };
  cv::line(canvas, fixed(a), fixed(b), colour, thickness, cv::LINE_AA, kShift);
}

void draw_text(cv::Mat& canvas, const std::string& text, const cv::Point2d& at,
               const cv::Scalar& colour, double size = drawing::kTextSize) {
  drawing::draw_text(canvas, text, {pixel(at.x), pixel(at.y)}, colour, size);
}

/// The pyramid of what a camera sees, `depth` long.
void draw_camera(cv::Mat& canvas, const Projection& view, const Camera& camera, double depth,
                 const cv::Scalar& colour) {
  const Intrinsics& k = camera.intrinsics;
  const cv::Point2d apex = view(camera.position());
  cv::Point2d corners[4];
  for (int i = 0; i < 4; ++i) {
    const double u = i == 0 || i == 3 ? 0 : camera.width;
    const double v = i < 2 ? 0 : camera.height;
    corners[i] =
        view(camera.camera_to_world * (depth * Vector3{(u - k.cx) / k.fx, (v - k.cy) / k.fy, 1}));
  }
  for (int i = 0; i < 4; ++i) {
    draw_line(canvas, apex, corners[i], colour);
    draw_line(canvas, corners[i], corners[(i + 1) % 4], colour);
  }
  cv::circle(canvas, {pixel(apex.x), pixel(apex.y)}, 3, colour, cv::FILLED, cv::LINE_AA);
}

/// 1, 2 or 5 times a power of ten, at most `value`.
double round_length(double value) {
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  return value / power >= 5 ? 5 * power : value / power >= 2 ? 2 * power : power;
}

void draw_scale(cv::Mat& canvas, const Projection& view) {
  const double unit = round_length(100 / view.pixels_per_unit);
  const cv::Point2d begin(view.left + 16.0, kPanel - 16.0);
  const cv::Point2d end = begin + cv::Point2d(unit * view.pixels_per_unit, 0);
  draw_line(canvas, begin, end, kInk, 2);
  draw_text(canvas, fmt::format("{:g} scene unit{}", unit, unit == 1 ? "" : "s"),
            begin - cv::Point2d(0, 8), kInk);
}

void draw_grid(cv::Mat& canvas, const Projection& view) {
  const double step = view.pixels_per_unit * round_length(100 / view.pixels_per_unit);
  for (double x = 0; x < kPanel; x += step)
    draw_line(canvas, {view.left + x, 0}, {view.left + x, kPanel - 1.0}, kGrid);
  for (double y = 0; y < kPanel; y += step)
    draw_line(canvas, {view.left + 0.0, y}, {view.left + kPanel - 1.0, y}, kGrid);
}

/// The world's axes, as seen here, in a corner.
void draw_world_axes(cv::Mat& canvas, const Projection& view) {
  const cv::Point2d origin(view.left + kPanel - 52.0, 52);
  const Vector3 axes[] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  const cv::Scalar colours[] = {{200, 60, 60}, {50, 150, 50}, {70, 70, 210}};
  const char* names[] = {"x", "y", "z"};
  for (int i = 0; i < 3; ++i) {
    const cv::Point2d tip =
        origin + 34 * cv::Point2d(dot(axes[i], view.right), -dot(axes[i], view.up));
    if (cv::norm(tip - origin) < 6) continue;  // it points at us
    draw_line(canvas, origin, tip, colours[i], 2);
    draw_text(canvas, names[i], tip + cv::Point2d(3, 3), colours[i], 0.45);
  }
}

/// Fits all positions, the centre and what the cameras see nearby into a panel, and of the points
/// what fits without making the cameras too small.
void fit(Projection& view, const std::vector<Camera>& cameras, const RigSummary& rig,
         double depth) {
  std::vector<Vector3> points;
  for (const Camera& camera : cameras) {
    points.push_back(camera.position());
    points.push_back(camera.camera_to_world * Vector3{0, 0, depth});
  }
  if (rig.center.has_value()) points.push_back(*rig.center);
  double low[2] = {std::numeric_limits<double>::infinity(),
                   std::numeric_limits<double>::infinity()};
  double high[2] = {-low[0], -low[1]};
  for (const Vector3& p : points) {
    const double at[2] = {dot(p, view.right), dot(p, view.up)};
    for (int i = 0; i < 2; ++i) {
      low[i] = std::min(low[i], at[i]);
      high[i] = std::max(high[i], at[i]);
    }
  }
  if (rig.points > 0) {
    const double most = std::max(high[0] - low[0], high[1] - low[1]);
    const double limits[4] = {low[0] - most, low[1] - most, high[0] + most, high[1] + most};
    for (int corner = 0; corner < 8; ++corner) {
      const Vector3 p{(corner & 1) != 0 ? rig.points_high.x : rig.points_low.x,
                      (corner & 2) != 0 ? rig.points_high.y : rig.points_low.y,
                      (corner & 4) != 0 ? rig.points_high.z : rig.points_low.z};
      const double at[2] = {dot(p, view.right), dot(p, view.up)};
      for (int i = 0; i < 2; ++i) {
        const double inside = std::clamp(at[i], limits[i], limits[i + 2]);
        low[i] = std::min(low[i], inside);
        high[i] = std::max(high[i], inside);
      }
    }
  }
  view.middle = 0.5 * (low[0] + high[0]) * view.right + 0.5 * (low[1] + high[1]) * view.up;
  const double size = std::max({high[0] - low[0], high[1] - low[1], 1e-12});
  view.pixels_per_unit = (kPanel - 2 * kMargin) / size;
}

struct Roles {
  std::span<const int> inputs, targets;
  const cv::Scalar& colour(int index) const {
    const auto holds = [&](std::span<const int> list) {
      return std::find(list.begin(), list.end(), index) != list.end();
    };
    return holds(targets) ? kTarget : holds(inputs) ? kInput : kOther;
  }
};

/// Dots in a lighter shade of their colours: cameras are what one looks for. A part of very many
/// points covers the same pixels.
void draw_points(cv::Mat& canvas, const Projection& view, const std::vector<ScenePoint>& points) {
  constexpr std::size_t kMost = 100'000;
  const std::size_t step = points.size() / kMost + 1;
  const cv::Rect panel(view.left, 0, kPanel, kPanel);
  cv::Mat pixels = canvas(panel);
  for (std::size_t i = 0; i < points.size(); i += step) {
    const cv::Point2d at = view(points[i].position);
    const cv::Point corner(pixel(at.x) - view.left, pixel(at.y));
    const cv::Rect dot = cv::Rect(corner, cv::Size(2, 2)) & cv::Rect(0, 0, kPanel, kPanel);
    if (dot.empty()) continue;
    const auto lighter = [](int value) { return 255 - (255 - value) * 7 / 10; };
    const auto& rgb = points[i].rgb;
    pixels(dot).setTo(cv::Scalar(lighter(rgb[0]), lighter(rgb[1]), lighter(rgb[2])));
  }
}

void draw_panel(cv::Mat& canvas, const Projection& view, const Scene& scene, const Roles& roles,
                const std::optional<Vector3>& center, double depth) {
  draw_grid(canvas, view);
  draw_points(canvas, view, scene.points);
  const std::vector<int> usable = scene.usable();
  const std::vector<Camera> cameras = rig_cameras(scene);
  for (std::size_t i = 0; i < cameras.size(); ++i)
    draw_camera(canvas, view, cameras[i], depth, roles.colour(usable[i]));
  // Numbers last and only as many as can be read.
  const std::size_t step = cameras.size() / 80 + 1;
  for (std::size_t i = 0; i < cameras.size(); i += step)
    draw_text(canvas, std::to_string(usable[i]), view(cameras[i].position()) + cv::Point2d(5, -5),
              kInk, 0.36);
  if (center.has_value()) {
    const cv::Point2d at = view(*center);
    draw_line(canvas, at - cv::Point2d(7, 0), at + cv::Point2d(7, 0), kInk, 2);
    draw_line(canvas, at - cv::Point2d(0, 7), at + cv::Point2d(0, 7), kInk, 2);
  }
  draw_scale(canvas, view);
  draw_world_axes(canvas, view);
}

void draw_caption(cv::Mat& canvas, const Scene& scene, const Roles& roles, const RigSummary& rig) {
  const double y = kPanel + 26;
  draw_text(canvas,
            fmt::format("{} ({}): {} cameras{}. Left from above, right from the side; cross: {}.",
                        printable(scene.name, 60), to_string(scene.format), rig.usable,
                        rig.points > 0 ? fmt::format(", {} points", rig.points) : "",
                        rig.center_of_points ? "the middle of the points"
                                             : "the point closest to all optical axes"),
            {16, y}, kInk, 0.45);
  double x = 16;
  for (const auto& [text, colour] :
       {std::pair{fmt::format("{} inputs", roles.inputs.size()), kInput},
        {fmt::format("{} targets", roles.targets.size()), kTarget},
        {std::string("others"), kOther}}) {
    cv::circle(canvas, cv::Point2d(x + 5, y + 21), 5, colour, cv::FILLED, cv::LINE_AA);
    draw_text(canvas, text, {x + 16, y + 26}, kInk, 0.45);
    x += 120;
  }
}

}  // namespace

Image draw_rig(const Scene& scene, std::span<const int> inputs, std::span<const int> targets) {
  const std::vector<Camera> cameras = rig_cameras(scene);
  TTT_CHECK(!cameras.empty(), internal, "a rig without cameras");
  const Vector3 up = mean_up(cameras);
  // From above, the first camera's right is to the right as far as possible.
  Vector3 right = cameras.front().right() - dot(cameras.front().right(), up) * up;
  right = length(right) > 1e-6 ? normalize(right) : any_perpendicular(up);
  const RigSummary rig = summarize_rig(scene);
  const double extent = std::max(length(rig.high - rig.low), 1e-12);
  const double depth = rig.baseline.mean > 0
                           ? std::clamp(0.6 * rig.baseline.mean, 0.03 * extent, 0.12 * extent)
                           : extent;
  const Roles roles{inputs, targets};
  Image result = drawing::blank(2 * kPanel, kPanel + kCaption);
  cv::Mat canvas = drawing::canvas_of(result);
  Projection above{right, cross(up, right), {}, 1, 0};
  Projection side{right, up, {}, 1, kPanel};
  for (Projection* view : {&above, &side}) {
    fit(*view, cameras, rig, depth);
    draw_panel(canvas, *view, scene, roles, rig.center, depth);
  }
  draw_line(canvas, {kPanel, 0}, {kPanel, kPanel - 1.0}, kInk);
  draw_line(canvas, {0, kPanel}, {2.0 * kPanel, kPanel}, kInk);
  draw_caption(canvas, scene, roles, rig);
  return result;
}

}  // namespace ttt::nvs
