// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/pictures.h"

#include <spdlog/fmt/fmt.h>

#include <array>
#include <fstream>

namespace ttt::test {
namespace {

void put(std::ofstream& file, std::uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) file.put(static_cast<char>(value >> (8 * i)));
}

/// An uncompressed 24-bit BMP.
void write_bmp(const std::filesystem::path& path, const Image& image) {
  std::ofstream file(path, std::ios::binary);
  const auto row = static_cast<std::uint32_t>((image.width * 3 + 3) / 4 * 4);
  const std::uint32_t size = 54 + row * static_cast<std::uint32_t>(image.height);
  file << "BM";
  for (const std::uint32_t value : {size, 0U, 54U, 40U}) put(file, value, 4);
  put(file, static_cast<std::uint32_t>(image.width), 4);
  put(file, static_cast<std::uint32_t>(image.height), 4);
  put(file, 1, 2);
  put(file, 24, 2);
  for (int i = 0; i < 6; ++i) put(file, 0, 4);
  for (int y = image.height - 1; y >= 0; --y) {
    for (int x = 0; x < image.width; ++x)
      for (int c = 2; c >= 0; --c) put(file, image.row(y)[3 * x + c], 1);
    for (std::uint32_t i = static_cast<std::uint32_t>(image.width) * 3; i < row; ++i)
      put(file, 0, 1);
  }
}

}  // namespace

Image gradient_picture(int width, int height) {
  Image image{width, height, {}};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (const int value : {x * 255 / width, y * 255 / height, (x + y * width) % 256})
        image.rgb.push_back(static_cast<std::uint8_t>(value));
  return image;
}

void write_class_folders(const std::filesystem::path& folder, int classes, int per_class,
                         int size) {
  for (int c = 0; c < classes; ++c) {
    const auto place = folder / fmt::format("class{}", c);
    std::filesystem::create_directories(place);
    for (int i = 0; i < per_class; ++i) {
      Image image = gradient_picture(size, size);
      for (std::size_t p = 0; p < image.rgb.size(); ++p)
        image.rgb[p] = static_cast<std::uint8_t>(
            (image.rgb[p] / 4 + (p % 3 == static_cast<std::size_t>(c % 3) ? 150 : 20) + 3 * i) %
            256);
      write_bmp(place / fmt::format("{}.bmp", i), image);
    }
  }
}

}  // namespace ttt::test
