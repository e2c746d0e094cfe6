// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/training/preview.h"

#include "core/atomic_file.h"
#include "core/media/encode_png.h"
#include "training/data_order.h"

#include <algorithm>
#include <cstring>

namespace ttt::nvs {
namespace {

constexpr int kBorder = 2;
constexpr int kUsefulWidth = 128;  // of one picture

/// Writes `picture`, each pixel as zoom x zoom, with its corner at (left, top).
void paste(const Image& picture, int zoom, int left, int top, Image& sheet) {
  for (int y = 0; y < picture.height * zoom; ++y) {
    const std::uint8_t* from = picture.row(y / zoom);
    std::uint8_t* to = sheet.row(top + y) + 3 * left;
    for (int x = 0; x < picture.width * zoom; ++x)
      std::memcpy(to + 3 * x, from + 3 * (x / zoom), 3);
  }
}

}  // namespace

Image picture_grid(const std::vector<std::vector<Image>>& rows) {
  std::size_t columns = 0;
  for (const auto& row : rows) columns = std::max(columns, row.size());
  if (columns == 0) return {};
  const Image& first = rows.front().front();
  const int zoom = std::max(1, kUsefulWidth / first.width);
  const int step_x = first.width * zoom + kBorder, step_y = first.height * zoom + kBorder;
  Image sheet{static_cast<int>(columns) * step_x + kBorder,
              static_cast<int>(rows.size()) * step_y + kBorder,
              {}};
  sheet.rgb.assign(
      static_cast<std::size_t>(sheet.width) * static_cast<std::size_t>(sheet.height) * 3, 255);
  for (std::size_t y = 0; y < rows.size(); ++y)
    for (std::size_t x = 0; x < rows[y].size(); ++x)
      paste(rows[y][x], zoom, static_cast<int>(x) * step_x + kBorder,
            static_cast<int>(y) * step_y + kBorder, sheet);
  return sheet;
}

void write_preview(const ViewSource& source, std::uint64_t seed, int rows, int views,
                   const std::filesystem::path& path) {
  std::vector<std::vector<Image>> pictures;
  for (int i = 0; i < rows; ++i)
    pictures.push_back(source.sample(training::sample_seed(seed, 0, i), views).images);
  write_file(path, encode_png(picture_grid(pictures)));
}

}  // namespace ttt::nvs
