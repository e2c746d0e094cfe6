// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/nvs/golden.h"

#include "core/weights/weight_file.h"

#include <ATen/core/Tensor.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>

namespace ttt::test {

struct GoldenFile::State {
  WeightFile file;
};

GoldenFile::GoldenFile(std::string_view name)
    : state_(new State{WeightFile::open(shared("golden/nvs/" + std::string(name)))}) {}
GoldenFile::~GoldenFile() = default;

std::vector<double> GoldenFile::numbers(const std::string& tensor) const {
  const at::Tensor values = state_->file.read(tensor).to(at::kDouble).contiguous();
  return {values.const_data_ptr<double>(), values.const_data_ptr<double>() + values.numel()};
}

std::vector<std::uint8_t> GoldenFile::bytes(const std::string& tensor) const {
  const at::Tensor values = state_->file.read(tensor).contiguous();
  return {values.const_data_ptr<std::uint8_t>(),
          values.const_data_ptr<std::uint8_t>() + values.numel()};
}

std::vector<std::int64_t> GoldenFile::shape(const std::string& tensor) const {
  return state_->file.read(tensor).sizes().vec();
}

std::vector<double> poses_of(const std::vector<nvs::Camera>& cameras) {
  std::vector<double> out;
  for (const nvs::Camera& camera : cameras)
    for (const double value : matrix4(camera.camera_to_world)) out.push_back(value);
  return out;
}

std::vector<double> intrinsics_of(const std::vector<nvs::Camera>& cameras) {
  std::vector<double> out;
  for (const nvs::Camera& camera : cameras)
    for (const double value :
         {camera.intrinsics.fx, camera.intrinsics.fy, camera.intrinsics.cx, camera.intrinsics.cy})
      out.push_back(value);
  return out;
}

nvs::Transform pose_at(const std::vector<double>& poses, std::size_t i) {
  const double* m = poses.data() + 16 * i;
  return {{{m[0], m[1], m[2], m[4], m[5], m[6], m[8], m[9], m[10]}}, {m[3], m[7], m[11]}};
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (!(difference <= worst)) worst = std::isnan(difference) ? INFINITY : difference;
  }
  return worst;
}

std::vector<std::uint8_t> planes_of(const Image& image) {
  std::vector<std::uint8_t> out;
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t i = c; i < image.rgb.size(); i += 3) out.push_back(image.rgb[i]);
  return out;
}

void write_text(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

void write_bytes(const std::filesystem::path& path, const std::vector<std::uint8_t>& bytes) {
  write_text(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace ttt::test
