// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/scene/colmap_model.h"

#include "core/error.h"
#include "core/inputs/paths.h"
#include "core/inputs/read_file.h"
#include "core/inputs/text.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <set>

namespace ttt::nvs {
namespace {

static_assert(std::endian::native == std::endian::little, "the files are little-endian");

/// A binary file, read from front to back; every step is checked against its end.
class BinaryFile {
 public:
  explicit BinaryFile(std::string path)
      : path_(std::move(path)), bytes_(inputs::read_file(path_)) {}

  template <typename T>
  T take() {
    need(sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  /// A count of records that are at least `size` bytes each.
  std::uint64_t take_count(std::uint64_t size, std::string_view what) {
    const auto count = take<std::uint64_t>();
    const std::uint64_t left = bytes_.size() - at_;
    TTT_CHECK(count <= left / size, input,
              fmt::format("the file is cut or damaged: it announces {} {} but has {} bytes left",
                          count, what, left),
              printable(path_), "copy the model again");
    return count;
  }
  std::string take_name() {
    const auto begin = bytes_.begin() + static_cast<std::ptrdiff_t>(at_);
    const auto end = std::find(begin, bytes_.end(), std::uint8_t{0});
    const auto length = static_cast<std::size_t>(end - begin);
    need(length + 1);
    at_ += length + 1;
    return {begin, end};
  }
  void skip(std::uint64_t count) {
    need(count);
    at_ += count;
  }
  /// Throws Error(input) for bytes behind the last record.
  void expect_end(std::uint64_t count, std::string_view what) const {
    TTT_CHECK(at_ == bytes_.size(), input,
              fmt::format("the file is damaged: {} bytes follow after {} {}", bytes_.size() - at_,
                          count, what),
              printable(path_), "copy the model again");
  }

 private:
  void need(std::uint64_t count) const {
    TTT_CHECK(count <= bytes_.size() - at_, input, "the file is cut or damaged: it ends too early",
              printable(path_), "copy the model again");
  }

  std::string path_;
  std::vector<std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

void add_camera(ColmapModel& model, std::uint32_t id, ColmapCamera camera,
                const std::string& where) {
  TTT_CHECK(model.cameras.emplace(id, std::move(camera)).second, input,
            fmt::format("camera {} is there twice", id), where);
}

void read_cameras_binary(const std::string& path, ColmapModel& model) {
  BinaryFile file(path);
  const std::uint64_t count = file.take_count(24 + 16, "cameras");
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto id = file.take<std::uint32_t>();
    const auto number = file.take<std::int32_t>();
    ColmapCamera camera;
    camera.model = colmap_camera_model(number);
    // The length of an unknown model's record is unknown too, so nothing behind it can be read.
    TTT_CHECK(camera.model != nullptr, unsupported,
              fmt::format("camera {} is of the unknown model number {}", id, number),
              printable(path), "undistort the pictures with colmap image_undistorter");
    camera.width = file.take<std::uint64_t>();
    camera.height = file.take<std::uint64_t>();
    for (std::size_t p = 0; p < camera.model->parameters; ++p)
      camera.parameters.push_back(file.take<double>());
    add_camera(model, id, std::move(camera), printable(path));
  }
  file.expect_end(count, "cameras");
}

void read_images_binary(const std::string& path, ColmapModel& model) {
  BinaryFile file(path);
  const std::uint64_t count = file.take_count(64 + 1 + 8, "images");
  for (std::uint64_t i = 0; i < count; ++i) {
    ColmapImage image;
    image.id = file.take<std::uint32_t>();
    for (double* value :
         {&image.rotation.w, &image.rotation.x, &image.rotation.y, &image.rotation.z,
          &image.translation.x, &image.translation.y, &image.translation.z})
      *value = file.take<double>();
    image.camera = file.take<std::uint32_t>();
    image.name = file.take_name();
    constexpr std::uint64_t kPoint = 24;
    file.skip(file.take_count(kPoint, "points") * kPoint);
    model.images.push_back(std::move(image));
  }
  file.expect_end(count, "images");
}

std::vector<std::string_view> words(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\f\v";
  std::vector<std::string_view> out;
  for (std::size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;
       at = line.find_first_not_of(kBlanks, at)) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    out.push_back(line.substr(at, end - at));
    at = end;
  }
  return out;
}

template <typename T>
bool parse(std::string_view word, T& value) {
  if (word.starts_with('+')) word.remove_prefix(1);
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value);
  return error == std::errc{} && stop == end;
}

/// Lines with their numbers, without comments.
struct TextLine {
  std::size_t number;
  std::string text;
};

std::vector<TextLine> read_lines(const std::string& path) {
  std::vector<TextLine> out;
  const std::vector<std::string> lines = read_text_lines(inputs::read_file(path));
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (!trim(lines[i]).starts_with('#')) out.push_back({i + 1, lines[i]});
  return out;
}

[[noreturn]] void fail_line(const std::string& path, std::size_t line, std::string_view what) {
  throw Error(ErrorKind::input, std::string(what),
              fmt::format("{}, line {}", printable(path), line),
              "export the model again with colmap model_converter");
}

void read_cameras_text(const std::string& path, ColmapModel& model) {
  for (const TextLine& line : read_lines(path)) {
    const std::vector<std::string_view> fields = words(line.text);
    if (fields.empty()) continue;
    std::uint32_t id = 0;
    ColmapCamera camera;
    if (fields.size() < 4 || !parse(fields[0], id) || !parse(fields[2], camera.width) ||
        !parse(fields[3], camera.height))
      fail_line(path, line.number, "a camera is not: id, model, width, height, parameters");
    camera.model = colmap_camera_model(fields[1]);
    if (camera.model == nullptr)
      throw Error(ErrorKind::unsupported,
                  fmt::format("camera model {} is not known", printable(fields[1], 60)),
                  fmt::format("{}, line {}", printable(path), line.number),
                  "undistort the pictures with colmap image_undistorter");
    for (std::size_t i = 4; i < fields.size(); ++i) {
      double value = 0;
      if (!parse(fields[i], value)) fail_line(path, line.number, "a parameter is not a number");
      camera.parameters.push_back(value);
    }
    if (camera.parameters.size() != camera.model->parameters)
      fail_line(path, line.number,
                fmt::format("a camera of model {} has {} parameters, not {}", camera.model->name,
                            camera.model->parameters, camera.parameters.size()));
    add_camera(model, id, std::move(camera), printable(path));
  }
}

/// IMAGE_ID QW QX QY QZ TX TY TZ CAMERA_ID NAME, where the name goes to the end of the line.
bool parse_image(const std::string& line, ColmapImage& image) {
  const std::vector<std::string_view> fields = words(line);
  if (fields.size() < 10 || !parse(fields[0], image.id) || !parse(fields[8], image.camera))
    return false;
  double* const values[] = {&image.rotation.w,   &image.rotation.x,    &image.rotation.y,
                            &image.rotation.z,   &image.translation.x, &image.translation.y,
                            &image.translation.z};
  for (std::size_t i = 0; i < 7; ++i)
    if (!parse(fields[i + 1], *values[i])) return false;
  image.name =
      trim(std::string_view(line).substr(static_cast<std::size_t>(fields[9].data() - line.data())));
  return true;
}

void add_point(ColmapPoints& into, const ScenePoint& point) {
  constexpr double kFar = 1e12;
  const auto usable = [](double value) { return std::abs(value) < kFar; };  // false for NaN
  const Vector3& p = point.position;
  if (usable(p.x) && usable(p.y) && usable(p.z))
    into.points.push_back(point);
  else
    ++into.dropped;
}

ColmapPoints read_points_binary(const std::string& path) {
  constexpr std::uint64_t kId = 8, kError = 8, kTrackEntry = 8;
  constexpr std::uint64_t kSmallest = kId + 3 * sizeof(double) + 3 + kError + 8;
  BinaryFile file(path);
  const std::uint64_t count = file.take_count(kSmallest, "points");
  ColmapPoints result;
  for (std::uint64_t i = 0; i < count; ++i) {
    ScenePoint point;
    file.skip(kId);
    for (double* value : {&point.position.x, &point.position.y, &point.position.z})
      *value = file.take<double>();
    for (std::uint8_t& value : point.rgb) value = file.take<std::uint8_t>();
    file.skip(kError);
    point.views = file.take_count(kTrackEntry, "track entries");
    file.skip(point.views * kTrackEntry);
    add_point(result, point);
  }
  file.expect_end(count, "points");
  return result;
}

/// POINT3D_ID X Y Z R G B ERROR, then pairs of IMAGE_ID and POINT2D_IDX.
bool parse_point(std::string_view line, ScenePoint& point) {
  constexpr std::size_t kTrack = 8;
  const std::vector<std::string_view> fields = words(line);
  std::uint64_t id = 0;
  double error = 0;
  if (fields.size() < kTrack || fields.size() % 2 != 0 || !parse(fields[0], id) ||
      !parse(fields[7], error))
    return false;
  double* const values[] = {&point.position.x, &point.position.y, &point.position.z};
  for (std::size_t i = 0; i < 3; ++i)
    if (!parse(fields[i + 1], *values[i]) || !parse(fields[i + 4], point.rgb[i])) return false;
  point.views = (fields.size() - kTrack) / 2;
  return true;
}

ColmapPoints read_points_text(const std::string& path) {
  ColmapPoints result;
  for (const TextLine& line : read_lines(path)) {
    if (trim(line.text).empty()) continue;
    ScenePoint point;
    if (!parse_point(line.text, point))
      fail_line(path, line.number,
                "a point is not: id, three coordinates, three colours from 0 to 255, error, pairs "
                "of image and feature");
    add_point(result, point);
  }
  return result;
}

bool is_number(std::string_view word) {
  double value = 0;
  return parse(word, value);
}

void read_images_text(const std::string& path, ColmapModel& model) {
  const std::vector<TextLine> lines = read_lines(path);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (trim(lines[i].text).empty()) continue;
    ColmapImage image;
    if (!parse_image(lines[i].text, image))
      fail_line(
          path, lines[i].number,
          "an image is not: id, four numbers of rotation, three of translation, camera, name");
    model.images.push_back(std::move(image));
    // The second line of a record holds points and may be empty. Some writers leave it out: then
    // the next line ends in a name.
    if (i + 1 == lines.size()) break;
    const std::vector<std::string_view> next = words(lines[i + 1].text);
    ColmapImage other;
    const bool points =
        next.size() < 10 || is_number(next.back()) || !parse_image(lines[i + 1].text, other);
    if (points) ++i;
  }
}

}  // namespace

bool has_binary_model(const std::string& folder) {
  return inputs::is_file(inputs::join(folder, "cameras.bin")) &&
         inputs::is_file(inputs::join(folder, "images.bin"));
}

bool has_text_model(const std::string& folder) {
  return inputs::is_file(inputs::join(folder, "cameras.txt")) &&
         inputs::is_file(inputs::join(folder, "images.txt"));
}

ColmapModel read_colmap_model(const std::string& folder) {
  ColmapModel model;
  const auto file = [&](const char* name) { return inputs::join(folder, name); };
  if (has_binary_model(folder)) {
    read_cameras_binary(file("cameras.bin"), model);
    read_images_binary(file("images.bin"), model);
  } else {
    read_cameras_text(file("cameras.txt"), model);
    read_images_text(file("images.txt"), model);
  }
  std::set<std::uint32_t> ids;
  for (const ColmapImage& image : model.images)
    TTT_CHECK(ids.insert(image.id).second, input, fmt::format("image {} is there twice", image.id),
              printable(folder), "export the model again with colmap model_converter");
  return model;
}

ColmapPoints read_colmap_points(const std::string& folder) {
  const std::string binary = inputs::join(folder, "points3D.bin");
  const std::string text = inputs::join(folder, "points3D.txt");
  // A folder may hold two models; the points come from the one whose cameras are taken.
  const bool prefers_binary = has_binary_model(folder) || !inputs::is_file(text);
  if (prefers_binary && inputs::is_file(binary)) return read_points_binary(binary);
  if (inputs::is_file(text)) return read_points_text(text);
  return {};
}

std::size_t count_colmap_images(const std::string& folder) {
  try {
    ColmapModel model;
    if (has_binary_model(folder))
      read_images_binary(inputs::join(folder, "images.bin"), model);
    else
      read_images_text(inputs::join(folder, "images.txt"), model);
    return model.images.size();
  } catch (const Error&) {
    return 0;
  }
}

}  // namespace ttt::nvs
