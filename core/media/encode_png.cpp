// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/encode_png.h"

#include "core/error.h"

#include <png.h>

namespace ttt {

std::string encode_png(const Image& image) {
  TTT_CHECK(image.width > 0 && image.height > 0, internal, "a picture without pixels",
            "encode_png");
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width);
  header.height = static_cast<png_uint_32>(image.height);
  header.format = PNG_FORMAT_RGB;
  std::string file(PNG_IMAGE_PNG_SIZE_MAX(header), '\0');
  png_alloc_size_t size = file.size();
  TTT_CHECK(png_image_write_to_memory(&header, file.data(), &size, /*convert_to_8bit=*/0,
                                      image.rgb.data(), /*row_stride=*/0, /*colormap=*/nullptr),
            internal, std::string("libpng: ") + header.message, "encode_png");
  file.resize(size);
  return file;
}

}  // namespace ttt
