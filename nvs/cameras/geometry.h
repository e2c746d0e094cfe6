// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

/// Small vectors and matrices in double precision, for cameras.
namespace ttt::nvs {

struct Vector3 {
  double x = 0, y = 0, z = 0;

  Vector3& operator+=(const Vector3& o) {
    x += o.x, y += o.y, z += o.z;
    return *this;
  }
  friend Vector3 operator+(Vector3 a, const Vector3& b) { return a += b; }
  friend Vector3 operator-(const Vector3& a, const Vector3& b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
  }
  friend Vector3 operator*(double s, const Vector3& a) { return {s * a.x, s * a.y, s * a.z}; }
  Vector3 operator-() const { return {-x, -y, -z}; }
  bool operator==(const Vector3&) const = default;
};

inline double dot(const Vector3& a, const Vector3& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
inline Vector3 cross(const Vector3& a, const Vector3& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
inline double length(const Vector3& a) {
  return std::sqrt(dot(a, a));
}
/// Not finite for a vector of length 0.
inline Vector3 normalize(const Vector3& a) {
  return (1.0 / length(a)) * a;
}
/// A unit vector that is perpendicular to a direction.
Vector3 any_perpendicular(const Vector3& direction);

/// Row-major 3x3; m[3 * row + column].
struct Matrix3 {
  std::array<double, 9> m{1, 0, 0, 0, 1, 0, 0, 0, 1};

  double& operator()(std::size_t row, std::size_t column) { return m[3 * row + column]; }
  double operator()(std::size_t row, std::size_t column) const { return m[3 * row + column]; }
  Vector3 column(std::size_t i) const { return {m[i], m[3 + i], m[6 + i]}; }
  Vector3 row(std::size_t i) const { return {m[3 * i], m[3 * i + 1], m[3 * i + 2]}; }
  static Matrix3 from_columns(const Vector3& a, const Vector3& b, const Vector3& c) {
    return {{a.x, b.x, c.x, a.y, b.y, c.y, a.z, b.z, c.z}};
  }
  bool operator==(const Matrix3&) const = default;
};

Matrix3 operator*(const Matrix3& a, const Matrix3& b);
Vector3 operator*(const Matrix3& a, const Vector3& b);
Matrix3 transpose(const Matrix3& a);
double determinant(const Matrix3& a);
/// Not finite for a singular matrix.
Matrix3 inverse(const Matrix3& a);

/// x -> linear * x + translation: a pose (then `linear` is a rotation, or what a file holds in its
/// place) or a change of world.
struct Transform {
  Matrix3 linear;
  Vector3 translation;
  bool operator==(const Transform&) const = default;
};

/// First b, then a.
Transform operator*(const Transform& a, const Transform& b);
inline Vector3 operator*(const Transform& a, const Vector3& b) {
  return a.linear * b + a.translation;
}
/// Not finite for a singular transform.
Transform inverse(const Transform& a);
bool is_finite(const Transform& a);
/// Row-major 4x4, last row 0 0 0 1.
std::array<double, 16> matrix4(const Transform& a);

/// Unit quaternion (Hamilton), w first.
struct Quaternion {
  double w = 1, x = 0, y = 0, z = 0;
};

double dot(const Quaternion& a, const Quaternion& b);
/// The quaternion must not be zero; its length doesn't matter.
Matrix3 rotation(const Quaternion& q);
/// The quaternion of the rotation nearest to a matrix.
Quaternion quaternion(const Matrix3& rotation);
/// Along the shorter way on the rotation sphere, at constant speed.
Quaternion slerp(Quaternion a, const Quaternion& b, double t);

/// The rotation nearest to a matrix of positive determinant (polar decomposition).
Matrix3 nearest_rotation(const Matrix3& a);
/// The shortest rotation that takes unit vector `from` to unit vector `to`.
Matrix3 rotation_between(const Vector3& from, const Vector3& to);

}  // namespace ttt::nvs
