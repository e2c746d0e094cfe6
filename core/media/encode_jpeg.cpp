// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/encode_jpeg.h"

#include "core/error.h"

#include <jpeglib.h>  // wants <cstdio> before it

#include <csetjmp>
#include <cstdio>
#include <cstdlib>

namespace ttt {
namespace {

/// A compressor into memory. write() returns false after a fatal error, which comes back through
/// longjmp, since exceptions must not cross C frames.
class JpegEncoder {
 public:
  JpegEncoder() {
    info_.err = jpeg_std_error(&errors_.manager);
    errors_.manager.error_exit = [](j_common_ptr info) {
      auto& errors = *reinterpret_cast<Errors*>(info->err);
      errors.manager.format_message(info, errors.message);
      std::longjmp(errors.jump, 1);
    };
    errors_.manager.output_message = [](j_common_ptr) {};
  }
  ~JpegEncoder() {
    jpeg_destroy_compress(&info_);
    std::free(bytes_);
  }
  JpegEncoder(const JpegEncoder&) = delete;
  JpegEncoder& operator=(const JpegEncoder&) = delete;

  bool write(const Image& image, int quality) {
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_create_compress(&info_);
    jpeg_mem_dest(&info_, &bytes_, &size_);
    info_.image_width = static_cast<JDIMENSION>(image.width);
    info_.image_height = static_cast<JDIMENSION>(image.height);
    info_.input_components = 3;
    info_.in_color_space = JCS_RGB;
    jpeg_set_defaults(&info_);
    jpeg_set_quality(&info_, quality, TRUE);
    info_.comp_info[0].h_samp_factor = info_.comp_info[0].v_samp_factor = 1;
    jpeg_start_compress(&info_, TRUE);
    for (int y = 0; y < image.height; ++y) {
      JSAMPROW row = const_cast<JSAMPROW>(image.row(y));  // libjpeg doesn't change it
      jpeg_write_scanlines(&info_, &row, 1);
    }
    jpeg_finish_compress(&info_);
    return true;
  }
  const char* message() const { return errors_.message; }
  std::string bytes() const { return {reinterpret_cast<const char*>(bytes_), size_}; }

 private:
  struct Errors {
    jpeg_error_mgr manager;  // must stay first: libjpeg hands out its address
    std::jmp_buf jump;
    char message[JMSG_LENGTH_MAX];
  };

  Errors errors_{};
  jpeg_compress_struct info_{};
  unsigned char* bytes_ = nullptr;
  unsigned long size_ = 0;
};

}  // namespace

std::string encode_jpeg(const Image& image, int quality) {
  TTT_CHECK(image.width > 0 && image.height > 0 && image.width <= JPEG_MAX_DIMENSION &&
                image.height <= JPEG_MAX_DIMENSION,
            internal, "a picture of this size can't be written as JPEG");
  JpegEncoder encoder;
  // With these sizes the memory is all that can be missing.
  TTT_CHECK(encoder.write(image, quality), memory,
            std::string("a JPEG can't be written: ") + encoder.message());
  return encoder.bytes();
}

}  // namespace ttt
