// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/cameras/distortion.h"

#include "core/error.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <limits>
#include <numbers>
#include <tuple>

namespace ttt::nvs {
namespace {

struct Bent {
  double radial;
  ImagePoint tangential;
};

Bent bend(const Distortion& lens, ImagePoint at) {
  const double r2 = at.x * at.x + at.y * at.y;
  const auto& [k, d, p] = std::tie(lens.k, lens.d, lens.p);
  const double above = 1 + r2 * (k[0] + r2 * (k[1] + r2 * (k[2] + r2 * k[3])));
  const double below = 1 + r2 * (d[0] + r2 * (d[1] + r2 * d[2]));
  return {above / below,
          {2 * p[0] * at.x * at.y + p[1] * (r2 + 2 * at.x * at.x),
           p[0] * (r2 + 2 * at.y * at.y) + 2 * p[1] * at.x * at.y}};
}

double bend_angle(const Distortion& lens, double theta) {
  const double t2 = theta * theta;
  const auto& k = lens.k;
  return theta * (1 + t2 * (k[0] + t2 * (k[1] + t2 * (k[2] + t2 * k[3]))));
}

/// The angle whose image is `target`, by bisection: the polynomial rises where a lens is sane.
double unbend_angle(const Distortion& lens, double target) {
  double low = 0;
  double high = std::numbers::pi / 2;
  if (!(bend_angle(lens, high) > target)) return std::numeric_limits<double>::quiet_NaN();
  for (int i = 0; i < 100; ++i) {
    const double middle = 0.5 * (low + high);
    (bend_angle(lens, middle) < target ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace

bool Distortion::identity() const {
  const auto zero = [](double value) { return value == 0; };
  return model == LensModel::polynomial && std::all_of(k.begin(), k.end(), zero) &&
         std::all_of(d.begin(), d.end(), zero) && std::all_of(p.begin(), p.end(), zero);
}

ImagePoint distort(const Distortion& lens, ImagePoint ideal) {
  if (lens.model == LensModel::fisheye) {
    const double r = std::hypot(ideal.x, ideal.y);
    if (r == 0) return ideal;
    const double scale = bend_angle(lens, std::atan(r)) / r;
    return {ideal.x * scale, ideal.y * scale};
  }
  const Bent bent = bend(lens, ideal);
  return {ideal.x * bent.radial + bent.tangential.x, ideal.y * bent.radial + bent.tangential.y};
}

ImagePoint undistort(const Distortion& lens, ImagePoint seen) {
  if (lens.model == LensModel::fisheye) {
    const double bent = std::hypot(seen.x, seen.y);
    if (bent == 0) return seen;
    const double scale = std::tan(unbend_angle(lens, bent)) / bent;
    return {seen.x * scale, seen.y * scale};
  }
  ImagePoint ideal = seen;
  constexpr int kSteps = 5;  // OpenCV's number: part of the definition of the new matrix
  for (int i = 0; i < kSteps; ++i) {
    const Bent bent = bend(lens, ideal);
    ideal = {(seen.x - bent.tangential.x) / bent.radial,
             (seen.y - bent.tangential.y) / bent.radial};
  }
  return ideal;
}

namespace {

/// The largest rectangle inside the undistorted border, in normalised coordinates.
struct Rectangle {
  double left = -std::numeric_limits<double>::infinity();
  double right = std::numeric_limits<double>::infinity();
  double top = -std::numeric_limits<double>::infinity();
  double bottom = std::numeric_limits<double>::infinity();
};

Rectangle inner_rectangle(const Distortion& lens, const Intrinsics& k, int width, int height) {
  constexpr int kGrid = 9;
  Rectangle inner;
  for (int row = 0; row < kGrid; ++row)
    for (int column = 0; column < kGrid; ++column) {
      if (row > 0 && row < kGrid - 1 && column > 0 && column < kGrid - 1) continue;
      const double u = column * (width - 1.0) / (kGrid - 1);
      const double v = row * (height - 1.0) / (kGrid - 1);
      const ImagePoint ideal = undistort(lens, {(u - k.cx) / k.fx, (v - k.cy) / k.fy});
      // Corners of a fisheye picture may lie 90 degrees off the axis: no bound for a flat picture.
      if (!std::isfinite(ideal.x) || !std::isfinite(ideal.y)) continue;
      if (column == 0) inner.left = std::max(inner.left, ideal.x);
      if (column == kGrid - 1) inner.right = std::min(inner.right, ideal.x);
      if (row == 0) inner.top = std::max(inner.top, ideal.y);
      if (row == kGrid - 1) inner.bottom = std::min(inner.bottom, ideal.y);
    }
  return inner;
}

}  // namespace

UndistortPlan plan_undistortion(const Distortion& lens, const Intrinsics& intrinsics, int width,
                                int height, bool reference_compat, const std::string& name) {
  if (lens.identity()) return {intrinsics, intrinsics};
  const double shift = reference_compat ? 0.0 : 0.5;
  Intrinsics source = intrinsics;
  source.cx -= shift;
  source.cy -= shift;
  const Rectangle inner = inner_rectangle(lens, source, width, height);
  const double wide = inner.right - inner.left;
  const double tall = inner.bottom - inner.top;
  const Intrinsics target{(width - 1) / wide, (height - 1) / tall, -(width - 1) / wide * inner.left,
                          -(height - 1) / tall * inner.top};
  // Beyond 170 degrees a flat picture is a smear around a dot; a rectangle inside out or a
  // hundredth of its size comes from coefficients that bend the picture over itself.
  const double limit = 2 * std::tan(85 * std::numbers::pi / 180);
  const auto sane = [](double focal, double before) {
    return std::isfinite(focal) && focal > 0.01 * before && focal < 100 * before;
  };
  TTT_CHECK(wide > 0 && tall > 0 && wide < limit && tall < limit &&
                sane(target.fx, intrinsics.fx) && sane(target.fy, intrinsics.fy),
            unsupported,
            "the lens distortion can't be undone in a flat picture (it sees too wide, or its "
            "coefficients are wrong)",
            printable(name),
            "undistort the pictures first, for example with colmap image_undistorter");
  return {intrinsics, {target.fx, target.fy, target.cx + shift, target.cy + shift}};
}

}  // namespace ttt::nvs
