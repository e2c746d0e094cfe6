// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include <jpeglib.h>

#include <jerror.h>

#include "core/media/codec.h"
#include "core/media/orientation.h"

namespace ttt::codec {
namespace {

constexpr std::string_view kFormat = "JPEG";

/// libjpeg's error manager, extended. Fatal errors come back through longjmp, since exceptions must
/// not cross C frames.
struct JpegErrors {
  jpeg_error_mgr manager;  // must stay first: libjpeg hands out its address
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
  bool damaged;  ///< a warning about the data was raised; `message` is the first of them
};

JpegErrors& errors_of(j_common_ptr info) { return *reinterpret_cast<JpegErrors*>(info->err); }

void on_fatal(j_common_ptr info) {
  JpegErrors& errors = errors_of(info);
  if (!errors.damaged) errors.manager.format_message(info, errors.message);
  std::longjmp(errors.jump, 1);
}

void on_message(j_common_ptr info, int level) {
  JpegErrors& errors = errors_of(info);
  if (level >= 0 || errors.damaged) return;
  // Oddities of headers, which say nothing about the data.
  const int code = errors.manager.msg_code;
  if (code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM) return;
  errors.damaged = true;
  errors.manager.format_message(info, errors.message);
}

/// A progressive file of a few bytes per scan can keep a decoder busy for minutes.
void on_progress(j_common_ptr info) {
  constexpr int kMaxScans = 500;
  if (info->is_decompressor && reinterpret_cast<j_decompress_ptr>(info)->input_scan_number > kMaxScans)
    ERREXIT(info, JERR_BAD_PROGRESSION);
}

/// A decompressor. Each step returns false after a fatal error, with the message in errors().
class JpegReader {
 public:
  JpegReader() {
    info_.err = jpeg_std_error(&errors_.manager);
    errors_.manager.error_exit = on_fatal;
    errors_.manager.emit_message = on_message;
    errors_.manager.output_message = [](j_common_ptr) {};
    progress_.progress_monitor = on_progress;
  }
  ~JpegReader() { jpeg_destroy_decompress(&info_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  bool read_header(std::span<const std::uint8_t> bytes) {
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_create_decompress(&info_);
    info_.progress = &progress_;
    jpeg_save_markers(&info_, JPEG_APP0 + 1, 0xFFFF);
    jpeg_mem_src(&info_, bytes.data(), bytes.size());
    jpeg_read_header(&info_, TRUE);
    return true;
  }
  bool start() {
    if (setjmp(errors_.jump) != 0) return false;
    info_.out_color_space = info_.num_components == 4 ? JCS_CMYK : JCS_RGB;
    info_.dct_method = JDCT_ISLOW;
    info_.do_fancy_upsampling = TRUE;
    jpeg_start_decompress(&info_);
    return true;
  }
  bool read_row(std::uint8_t* row) {
    if (setjmp(errors_.jump) != 0) return false;
    JSAMPROW rows[] = {row};
    return jpeg_read_scanlines(&info_, rows, 1) == 1;
  }
  /// Reads on to the end-of-image marker, which a cut file lacks.
  bool finish() {
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_finish_decompress(&info_);
    return true;
  }

  const jpeg_decompress_struct& info() const { return info_; }
  const JpegErrors& errors() const { return errors_; }

 private:
  jpeg_decompress_struct info_{};
  JpegErrors errors_{};
  jpeg_progress_mgr progress_{};
};

int orientation_of(const jpeg_decompress_struct& info) {
  constexpr std::string_view kExif{"Exif\0\0", 6};
  for (jpeg_saved_marker_ptr marker = info.marker_list; marker != nullptr; marker = marker->next)
    if (marker->data_length > kExif.size() &&
        std::memcmp(marker->data, kExif.data(), kExif.size()) == 0)
      return exif_orientation({marker->data, marker->data_length});
  return 1;
}

/// Photoshop stores inverted inks and says so by an Adobe marker. Pillow takes the marker for granted.
bool inks_inverted(const Source& source, const jpeg_decompress_struct& info) {
  return source.official() || info.saw_Adobe_marker;
}

}  // namespace

Image decode_jpeg(const Source& source) {
  JpegReader reader;
  if (!reader.read_header(source.bytes)) fail_damaged(source, kFormat, reader.errors().message);
  const jpeg_decompress_struct& info = reader.info();
  check_size(source, kFormat, info.image_width, info.image_height);
  // One bit a block is what a progressive scan of constant colour needs at the least.
  check_plausible(source, kFormat, info.image_width, info.image_height, 64 * 8 * 16);
  if (info.num_components != 1 && info.num_components != 3 && info.num_components != 4)
    fail_unsupported(source, "a JPEG of " + std::to_string(info.num_components) + " channels");
  if (!reader.start()) fail_damaged(source, kFormat, reader.errors().message);

  const bool cmyk = info.out_color_space == JCS_CMYK;
  const std::uint8_t flip = cmyk && inks_inverted(source, info) ? 255 : 0;
  std::vector<std::uint8_t> inks(cmyk ? std::size_t{4} * info.image_width : 0);
  Image image = make_image(info.image_width, info.image_height);
  if (cmyk) std::fill(image.rgb.begin(), image.rgb.end(), 255);
  for (int y = 0; y < image.height; ++y) {
    if (!reader.read_row(cmyk ? inks.data() : image.row(y))) {
      // Pillow keeps the rows so far; a file without any is no picture.
      if (source.official() && y > 0) return image;
      fail_damaged(source, kFormat, reader.errors().message);
    }
    if (!cmyk) continue;
    for (std::uint8_t& ink : inks) ink ^= flip;
    for (int x = 0; x < image.width; ++x) cmyk_to_rgb(&inks[std::size_t{4} * x], image.row(y) + 3 * x);
  }
  if (source.official()) return image;
  const int orientation = orientation_of(info);  // finish() drops the markers
  if (!reader.finish() || reader.errors().damaged)
    fail_damaged(source, kFormat, reader.errors().message);
  return apply_orientation(std::move(image), orientation);
}

}  // namespace ttt::codec
