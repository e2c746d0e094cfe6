// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvs/cameras/camera.h"

#include <array>
#include <string>

namespace ttt::nvs {

enum class LensModel {
  /// radial = (1 + k0 r^2 + k1 r^4 + k2 r^6 + k3 r^8) / (1 + d0 r^2 + d1 r^4 + d2 r^6) and
  /// tangential p0, p1: OpenCV's and COLMAP's polynomial models.
  polynomial,
  /// theta_d = theta (1 + k0 theta^2 + k1 theta^4 + k2 theta^6 + k3 theta^8): OpenCV's fisheye
  /// model.
  fisheye,
};

/// A lens: from the direction (x/z, y/z) to where it is seen on the image plane.
struct Distortion {
  LensModel model = LensModel::polynomial;
  std::array<double, 4> k{};
  std::array<double, 3> d{};
  std::array<double, 2> p{};

  /// No effect at all; a fisheye lens always has one.
  bool identity() const;
  bool operator==(const Distortion&) const = default;
};

struct ImagePoint {
  double x = 0, y = 0;
};

/// Normalised coordinates of an ideal pinhole picture to those seen through the lens.
ImagePoint distort(const Distortion& lens, ImagePoint ideal);
/// The way back. polynomial: five fixed-point steps, as OpenCV takes them; fisheye: to convergence,
/// not finite from 90 degrees off the axis on.
ImagePoint undistort(const Distortion& lens, ImagePoint seen);

/// What a distorted picture becomes.
struct UndistortPlan {
  Intrinsics source;       ///< of the distorted picture
  Intrinsics undistorted;  ///< of the new picture, which has the same size
};

/// The matrix of the largest undistorted picture without empty borders: OpenCV 5's
/// getOptimalNewCameraMatrix with alpha = 0, by its formula (a 9x9 grid on the pixel centres, inner
/// rectangle). `intrinsics` have pixel centres at 0.5. reference_compat hands them to the
/// integer-centred formulas as they are, which is what the official conversion does (off by
/// hundredths of a pixel). Throws Error(unsupported) when the lens can't be inverted or sees too
/// much for a flat picture; `name` is for that message.
UndistortPlan plan_undistortion(const Distortion& lens, const Intrinsics& intrinsics, int width,
                                int height, bool reference_compat, const std::string& name);

}  // namespace ttt::nvs
