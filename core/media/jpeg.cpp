// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/codec.h"
#include "core/media/orientation.h"

#include <cstdio>

// clang-format off
#include <jpeglib.h>  // wants <cstdio> before it
#include <jerror.h>   // wants <jpeglib.h> before it
// clang-format on

#include <algorithm>
#include <csetjmp>
#include <cstring>

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
  bool endless;  ///< decoding was given up
};

JpegErrors& errors_of(j_common_ptr info) {
  return *reinterpret_cast<JpegErrors*>(info->err);
}

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

/// A progressive file of a few bytes per scan can keep a decoder busy for minutes: each scan goes
/// over the whole picture. Encoders write some ten scans.
void on_progress(j_common_ptr info) {
  if (!info->is_decompressor) return;
  constexpr std::int64_t kMinScans = 32;
  constexpr std::int64_t kMaxScans = 500;
  constexpr std::int64_t kMaxPixels = std::int64_t{1} << 32;  // of all scans together
  const auto* jpeg = reinterpret_cast<j_decompress_ptr>(info);
  const std::int64_t pixels = std::int64_t{jpeg->image_width} * jpeg->image_height;
  const std::int64_t scans = kMaxPixels / std::max<std::int64_t>(pixels, 1);
  if (jpeg->input_scan_number <= std::clamp(scans, kMinScans, kMaxScans)) return;
  errors_of(info).endless = true;
  ERREXIT(info, JERR_BAD_PROGRESSION);
}

/// A source that holds all there is: where it ends, libjpeg suspends, and the step under way says
/// `suspended`.
struct JpegSource {
  jpeg_source_mgr manager;  // must stay first: libjpeg hands out its address

  explicit JpegSource(std::span<const std::uint8_t> bytes) : manager{} {
    manager.next_input_byte = bytes.data();
    manager.bytes_in_buffer = bytes.size();
    manager.init_source = [](j_decompress_ptr) {};
    manager.fill_input_buffer = [](j_decompress_ptr) -> boolean { return FALSE; };
    manager.skip_input_data = [](j_decompress_ptr info, long count) {
      const std::size_t left = info->src->bytes_in_buffer;
      const std::size_t skipped = count > 0 ? std::min(left, static_cast<std::size_t>(count)) : 0;
      info->src->next_input_byte += skipped;
      info->src->bytes_in_buffer -= skipped;
    };
    manager.resync_to_restart = jpeg_resync_to_restart;
    manager.term_source = [](j_decompress_ptr) {};
  }
};

enum class Step { done, suspended, failed };

/// A decompressor. After a step that failed, errors() holds the message.
class JpegReader {
 public:
  explicit JpegReader(std::span<const std::uint8_t> bytes) : source_(bytes) {
    info_.err = jpeg_std_error(&errors_.manager);
    errors_.manager.error_exit = on_fatal;
    errors_.manager.emit_message = on_message;
    errors_.manager.output_message = [](j_common_ptr) {};
    progress_.progress_monitor = on_progress;
  }
  ~JpegReader() { jpeg_destroy_decompress(&info_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  Step read_header() {
    if (setjmp(errors_.jump) != 0) return Step::failed;
    jpeg_create_decompress(&info_);
    info_.progress = &progress_;
    info_.src = &source_.manager;
    jpeg_save_markers(&info_, JPEG_APP0 + 1, 0xFFFF);
    return jpeg_read_header(&info_, TRUE) == JPEG_HEADER_OK ? Step::done : Step::suspended;
  }
  Step start() {
    if (setjmp(errors_.jump) != 0) return Step::failed;
    info_.out_color_space = info_.num_components == 4 ? JCS_CMYK : JCS_RGB;
    info_.dct_method = JDCT_ISLOW;
    info_.do_fancy_upsampling = TRUE;
    return jpeg_start_decompress(&info_) != FALSE ? Step::done : Step::suspended;
  }
  /// Leaves out the pixels beside these columns, or some of them; tells which are left.
  Step crop(int& left, int& width) {
    auto x = static_cast<JDIMENSION>(left);
    auto columns = static_cast<JDIMENSION>(width);
    if (setjmp(errors_.jump) != 0) return Step::failed;
    jpeg_crop_scanline(&info_, &x, &columns);
    left = static_cast<int>(x);
    width = static_cast<int>(columns);
    return Step::done;
  }
  Step read_row(std::uint8_t* row) {
    if (setjmp(errors_.jump) != 0) return Step::failed;
    JSAMPROW rows[] = {row};
    return jpeg_read_scanlines(&info_, rows, 1) == 1 ? Step::done : Step::suspended;
  }
  /// Reads on to the end-of-image marker, which a cut file lacks. Drops the saved markers.
  Step finish() {
    if (setjmp(errors_.jump) != 0) return Step::failed;
    return jpeg_finish_decompress(&info_) != FALSE ? Step::done : Step::suspended;
  }

  const jpeg_decompress_struct& info() const { return info_; }
  bool has_multiple_scans() { return jpeg_has_multiple_scans(&info_) != FALSE; }
  const JpegErrors& errors() const { return errors_; }
  std::size_t unread_bytes() const { return source_.manager.bytes_in_buffer; }

 private:
  JpegSource source_;
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

/// Photoshop stores inverted inks and says so by an Adobe marker. Pillow takes the marker for
/// granted.
bool inks_inverted(const Source& source, const jpeg_decompress_struct& info) {
  return source.official() || info.saw_Adobe_marker;
}

[[noreturn]] void fail(const Source& source, const JpegReader& reader, Step step) {
  const bool cut = step == Step::suspended && !reader.errors().damaged;
  fail_damaged(source, kFormat, cut ? "the file ends too early" : reader.errors().message);
}

/// libjpeg smooths over what the later scans of a cut progressive file would have said. Before
/// version 3.0.1 it took wrong neighbours (libjpeg-turbo #700, #721), unlike the library inside
/// Pillow 11.3.
bool smoothed_unlike_pillow(const jpeg_decompress_struct& info) {
#if LIBJPEG_TURBO_VERSION_NUMBER >= 3000001
  static_cast<void>(info);
  return false;
#else
  if (!info.progressive_mode || info.coef_bits == nullptr) return false;
  constexpr int kSmoothedCoefficients = 10;
  bool active = false;
  bool affected = false;
  for (int c = 0; c < info.num_components; ++c) {
    const jpeg_component_info& component = info.comp_info[c];
    if (info.coef_bits[c][0] < 0) return false;
    for (int k = 1; k < kSmoothedCoefficients; ++k) active = active || info.coef_bits[c][k] != 0;
    affected = affected || component.v_samp_factor > 1 || component.width_in_blocks == 2;
  }
  return active && affected;
#endif
}

/// What has to be decoded of a stored picture of width x height: the part asked for with its
/// neighbours, or all. Only columns cost less when they are left out: every row's data is read.
PixelRect crop_columns(const Source& source, JpegReader& reader, PixelRect whole, int orientation) {
  // The later scans of other files refine coefficients, and smoothing looks across blocks.
  if (source.part == nullptr || reader.has_multiple_scans()) return whole;
  const PixelRect upright = rect_after_orientation(whole, orientation, whole.width, whole.height);
  PixelRect rect = rect_before_orientation(source.part->needed(upright.width, upright.height),
                                           orientation, whole.width, whole.height);
  // Chroma is smoothed over the neighbours of its samples, which lie up to two pixels away.
  constexpr int kNeighbours = 16;
  const int right = std::min(rect.left + rect.width + kNeighbours, whole.width);
  rect.left = std::max(rect.left - kNeighbours, 0);
  rect.width = right - rect.left;
  if (rect.width == whole.width) return whole;
  const Step cropped = reader.crop(rect.left, rect.width);
  if (cropped != Step::done) fail(source, reader, cropped);
  source.part->served = true;
  source.part->place = rect_after_orientation(rect, orientation, whole.width, whole.height);
  source.part->whole_width = upright.width;
  source.part->whole_height = upright.height;
  return rect;
}

/// The rows of a rectangle as RGB, into a black picture; official mode leaves the rest of a cut
/// picture without ink or light. `height` is the whole picture's: rows outside are read and
/// dropped, so that damage to them is found.
Image read_rows(const Source& source, JpegReader& reader, PixelRect rect, int height) {
  const jpeg_decompress_struct& info = reader.info();
  Image image = make_image(rect.width, rect.height);
  const bool cmyk = info.out_color_space == JCS_CMYK;
  const std::uint8_t flip = cmyk && inks_inverted(source, info) ? 255 : 0;
  std::vector<std::uint8_t> buffer(std::size_t{4} * static_cast<std::size_t>(rect.width));
  if (cmyk) std::fill(image.rgb.begin(), image.rgb.end(), std::uint8_t{255});
  for (int y = 0; y < height; ++y) {
    const int row = y - rect.top;
    const bool needed = row >= 0 && row < rect.height;
    const Step step = reader.read_row(cmyk || !needed ? buffer.data() : image.row(row));
    if (step != Step::done) {
      if (source.official()) return image;
      fail(source, reader, step);
    }
    if (!cmyk || !needed) continue;
    for (std::uint8_t& ink : buffer) ink ^= flip;
    for (int x = 0; x < image.width; ++x)
      cmyk_to_rgb(&buffer[std::size_t{4} * x], image.row(row) + std::ptrdiff_t{3} * x);
  }
  return image;
}

/// What there is of a cut file whose rows can't even be begun.
Image no_rows(const jpeg_decompress_struct& info, PixelRect whole) {
  Image image = make_image(whole.width, whole.height);
  if (info.out_color_space == JCS_CMYK)
    std::fill(image.rgb.begin(), image.rgb.end(), std::uint8_t{255});
  return image;
}

}  // namespace

Image decode_jpeg(const Source& source) {
  // Like Pillow, official mode closes a file that may be cut with an end-of-image marker.
  std::vector<std::uint8_t> closed;
  if (source.official()) {
    closed.reserve(source.bytes.size() + 2);
    closed.assign(source.bytes.begin(), source.bytes.end());
    closed.insert(closed.end(), {0xFF, JPEG_EOI});
  }
  JpegReader reader(source.official() ? closed : source.bytes);
  const Step header = reader.read_header();
  if (header != Step::done || (source.official() && reader.unread_bytes() < 2))
    fail(source, reader, header == Step::done ? Step::suspended : header);
  const jpeg_decompress_struct& info = reader.info();
  check_size(source, kFormat, info.image_width, info.image_height);
  // One bit a block is what a progressive scan of constant colour needs at the least.
  check_plausible(source, kFormat, info.image_width, info.image_height, 64 * 8 * 16);
  if (info.num_components != 1 && info.num_components != 3 && info.num_components != 4)
    fail_unsupported(source, "a JPEG of " + std::to_string(info.num_components) + " channels");
  // A second header, which is an error, changes libjpeg's idea of the size before it is refused.
  const std::int64_t width = info.image_width;
  const std::int64_t height = info.image_height;
  const Step started = reader.start();
  if (reader.errors().endless)
    fail_damaged(source, kFormat, "it has far more scans than a picture needs");
  if (started != Step::done && !source.official()) fail(source, reader, started);
  if (source.official() && started == Step::done && smoothed_unlike_pillow(info))
    fail_damaged(source, kFormat, "the file ends before its last scans");

  const PixelRect whole{0, 0, static_cast<int>(width), static_cast<int>(height)};
  if (started != Step::done) return no_rows(info, whole);
  const int orientation = source.official() ? 1 : orientation_of(info);
  const PixelRect rect = crop_columns(source, reader, whole, orientation);
  Image image = read_rows(source, reader, rect, whole.height);
  if (source.official()) return image;
  const Step finished = reader.finish();
  if (finished != Step::done || reader.errors().damaged) fail(source, reader, finished);
  note_kind(source, info.num_components == 1   ? PixelKind::grey
                    : info.num_components == 4 ? PixelKind::cmyk
                                               : PixelKind::rgb);
  return finish_orientation(source, std::move(image), orientation);
}

}  // namespace ttt::codec
