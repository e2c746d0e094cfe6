// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/nvs/png_files.h"

#include <cstring>
#include <map>
#include <png.h>
#include <stdexcept>

namespace ttt::test {

void write_png(const std::filesystem::path& path, const RawPicture& picture) {
  static const std::map<std::string, png_uint_32> kFormats{{"L", PNG_FORMAT_GRAY},
                                                           {"LA", PNG_FORMAT_GA},
                                                           {"RGB", PNG_FORMAT_RGB},
                                                           {"RGBA", PNG_FORMAT_RGBA},
                                                           {"P", PNG_FORMAT_RGB_COLORMAP}};
  std::filesystem::create_directories(path.parent_path());
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = kFormats.at(picture.mode);
  image.colormap_entries = static_cast<png_uint_32>(picture.palette.size() / 3);
  const void* palette = picture.palette.empty() ? nullptr : picture.palette.data();
  if (png_image_write_to_file(&image, path.c_str(), 0, picture.samples.data(), 0, palette) == 0)
    throw std::runtime_error(image.message);
}

}  // namespace ttt::test
