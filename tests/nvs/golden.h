// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/media/image.h"
#include "nvs/cameras/camera.h"
#include "tests/support/paths.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ttt::test {

/// The tensors of a golden file below golden/nvs.
class GoldenFile {
 public:
  explicit GoldenFile(std::string_view name);
  ~GoldenFile();
  /// As doubles, whatever the stored type.
  std::vector<double> numbers(const std::string& tensor) const;
  std::vector<std::uint8_t> bytes(const std::string& tensor) const;
  std::vector<std::int64_t> shape(const std::string& tensor) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Row-major 4x4 matrices one after another.
std::vector<double> poses_of(const std::vector<nvs::Camera>& cameras);
/// fx, fy, cx, cy one after another.
std::vector<double> intrinsics_of(const std::vector<nvs::Camera>& cameras);
/// The c2w matrix number `i` of such a list.
nvs::Transform pose_at(const std::vector<double>& poses, std::size_t i);

/// Largest absolute difference; infinite when the sizes differ or a value is not a number.
double largest_difference(const std::vector<double>& a, const std::vector<double>& b);

/// [H,W,3] bytes as [3,H,W].
std::vector<std::uint8_t> planes_of(const Image& image);

void write_text(const std::filesystem::path& path, std::string_view text);
void write_bytes(const std::filesystem::path& path, const std::vector<std::uint8_t>& bytes);
std::string read_text(const std::filesystem::path& path);

}  // namespace ttt::test
