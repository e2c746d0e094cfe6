// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/cameras/geometry.h"

#include <algorithm>

namespace ttt::nvs {

Vector3 any_perpendicular(const Vector3& direction) {
  // The axis that is farthest from the direction.
  const double x = std::abs(direction.x), y = std::abs(direction.y), z = std::abs(direction.z);
  const Vector3 axis = x <= y && x <= z ? Vector3{1, 0, 0}
                       : y <= z         ? Vector3{0, 1, 0}
                                        : Vector3{0, 0, 1};
  return normalize(cross(direction, axis));
}

Matrix3 operator*(const Matrix3& a, const Matrix3& b) {
  Matrix3 out;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) out(i, j) = dot(a.row(i), b.column(j));
  return out;
}

Vector3 operator*(const Matrix3& a, const Vector3& b) {
  return {dot(a.row(0), b), dot(a.row(1), b), dot(a.row(2), b)};
}

Matrix3 transpose(const Matrix3& a) {
  return Matrix3::from_columns(a.row(0), a.row(1), a.row(2));
}

double determinant(const Matrix3& a) {
  return dot(a.column(0), cross(a.column(1), a.column(2)));
}

Matrix3 inverse(const Matrix3& a) {
  // Its rows are the cross products of the columns over the determinant.
  const double scale = 1.0 / determinant(a);
  return transpose(Matrix3::from_columns(scale * cross(a.column(1), a.column(2)),
                                         scale * cross(a.column(2), a.column(0)),
                                         scale * cross(a.column(0), a.column(1))));
}

Transform operator*(const Transform& a, const Transform& b) {
  return {a.linear * b.linear, a * b.translation};
}

Transform inverse(const Transform& a) {
  const Matrix3 linear = inverse(a.linear);
  return {linear, -(linear * a.translation)};
}

bool is_finite(const Transform& a) {
  return std::all_of(a.linear.m.begin(), a.linear.m.end(),
                     [](double value) { return std::isfinite(value); }) &&
         std::isfinite(a.translation.x) && std::isfinite(a.translation.y) &&
         std::isfinite(a.translation.z);
}

std::array<double, 16> matrix4(const Transform& a) {
  const auto& m = a.linear.m;
  const Vector3& t = a.translation;
  return {m[0], m[1], m[2], t.x, m[3], m[4], m[5], t.y, m[6], m[7], m[8], t.z, 0, 0, 0, 1};
}

double dot(const Quaternion& a, const Quaternion& b) {
  return a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z;
}

Matrix3 rotation(const Quaternion& q) {
  const double s = 1.0 / std::sqrt(dot(q, q));
  const double w = s * q.w, x = s * q.x, y = s * q.y, z = s * q.z;
  return {{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),  //
           2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),  //
           2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}};
}

Quaternion quaternion(const Matrix3& matrix) {
  const Matrix3 r = nearest_rotation(matrix);
  // From the largest of the four squares, which loses no digits.
  const double w = 1 + r(0, 0) + r(1, 1) + r(2, 2);
  const double x = 1 + r(0, 0) - r(1, 1) - r(2, 2);
  const double y = 1 - r(0, 0) + r(1, 1) - r(2, 2);
  const double z = 1 - r(0, 0) - r(1, 1) + r(2, 2);
  const double largest = std::max({w, x, y, z});
  const double s = 0.5 / std::sqrt(largest);
  if (largest == w)
    return {s * w, s * (r(2, 1) - r(1, 2)), s * (r(0, 2) - r(2, 0)), s * (r(1, 0) - r(0, 1))};
  if (largest == x)
    return {s * (r(2, 1) - r(1, 2)), s * x, s * (r(0, 1) + r(1, 0)), s * (r(0, 2) + r(2, 0))};
  if (largest == y)
    return {s * (r(0, 2) - r(2, 0)), s * (r(0, 1) + r(1, 0)), s * y, s * (r(1, 2) + r(2, 1))};
  return {s * (r(1, 0) - r(0, 1)), s * (r(0, 2) + r(2, 0)), s * (r(1, 2) + r(2, 1)), s * z};
}

Quaternion slerp(Quaternion a, const Quaternion& b, double t) {
  double cosine = dot(a, b);
  if (cosine < 0) {
    a = {-a.w, -a.x, -a.y, -a.z};
    cosine = -cosine;
  }
  double from = 1 - t;
  double to = t;
  // Nearly equal: the straight line is as good, and the sines would cancel.
  if (cosine < 1 - 1e-9) {
    const double angle = std::acos(std::min(cosine, 1.0));
    from = std::sin(from * angle) / std::sin(angle);
    to = std::sin(to * angle) / std::sin(angle);
  }
  Quaternion out{from * a.w + to * b.w, from * a.x + to * b.x, from * a.y + to * b.y,
                 from * a.z + to * b.z};
  const double s = 1.0 / std::sqrt(dot(out, out));
  return {s * out.w, s * out.x, s * out.y, s * out.z};
}

Matrix3 nearest_rotation(const Matrix3& a) {
  // Newton's iteration for the polar factor: X <- (X + X^-T) / 2.
  Matrix3 x = a;
  for (int i = 0; i < 60; ++i) {
    const Matrix3 other = transpose(inverse(x));
    double change = 0;
    for (std::size_t k = 0; k < 9; ++k) {
      const double next = 0.5 * (x.m[k] + other.m[k]);
      change = std::max(change, std::abs(next - x.m[k]));
      x.m[k] = next;
    }
    if (!(change > 1e-15)) break;
  }
  return x;
}

Matrix3 rotation_between(const Vector3& from, const Vector3& to) {
  const double cosine = dot(from, to);
  if (cosine < -1 + 1e-12) {  // opposite: half a turn about any perpendicular axis
    const Vector3 axis = any_perpendicular(from);
    return rotation({0, axis.x, axis.y, axis.z});
  }
  const Vector3 axis = cross(from, to);
  return rotation({1 + cosine, axis.x, axis.y, axis.z});
}

}  // namespace ttt::nvs
