// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ttt::test {

/// Raw samples of a picture in one of Pillow's modes: L, LA, RGB, RGBA, P (with a palette).
struct RawPicture {
  std::string mode;
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> samples;
  std::vector<std::uint8_t> palette;
};

void write_png(const std::filesystem::path& path, const RawPicture& picture);

}  // namespace ttt::test
