// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/decode.h"

#include "core/error.h"
#include "core/inputs/read_file.h"
#include "core/media/codec.h"
#include "core/media/orientation.h"

#include <spdlog/fmt/fmt.h>

#include <new>
#include <string>

namespace ttt {
namespace codec {

void fail_damaged(const Source& source, std::string_view format, std::string_view detail) {
  throw Error(ErrorKind::input, fmt::format("damaged {} file: {}", format, printable(detail)),
              printable(source.name),
              source.official() ? "get or export the picture again"
                                : "get or export the picture again; --decode official accepts cut "
                                  "files that the official loader accepts");
}

void fail_unsupported(const Source& source, std::string_view kind) {
  throw Error(ErrorKind::unsupported, fmt::format("{} is not supported", printable(kind)),
              printable(source.name), "convert it to an 8-bit PNG or JPEG");
}

void check_size(const Source& source, std::string_view format, std::int64_t width,
                std::int64_t height) {
  TTT_CHECK(width > 0 && height > 0, input,
            fmt::format("damaged {} file: its header says {}x{} pixels", format, width, height),
            printable(source.name), "get or export the picture again");
  const DecodeLimits& limits = source.limits;
  TTT_CHECK(
      width <= limits.max_side && height <= limits.max_side && width <= limits.max_pixels / height,
      input,
      fmt::format("the {} header says {}x{} pixels; the limit is {} million pixels and {} a side",
                  format, width, height, limits.max_pixels / 1'000'000, limits.max_side),
      printable(source.name), "scale the picture down first, if that size is real");
}

void check_plausible(const Source& source, std::string_view format, std::int64_t width,
                     std::int64_t height, std::int64_t max_pixels_per_byte) {
  if (source.official()) return;
  const auto bytes = static_cast<std::int64_t>(source.bytes.size());
  if (width * height / max_pixels_per_byte > bytes)
    fail_damaged(
        source, format,
        fmt::format("{} bytes can't hold the {}x{} pixels of its header", bytes, width, height));
}

Image make_image(std::int64_t width, std::int64_t height) {
  Image image{static_cast<int>(width), static_cast<int>(height), {}};
  image.rgb.resize(static_cast<std::size_t>(width * height) * 3);
  return image;
}

std::uint8_t* make_alpha(const Source& source, const Image& image) {
  if (source.stored == nullptr) return nullptr;
  std::vector<std::uint8_t>& alpha = source.stored->picture.alpha;
  alpha.assign(image.rgb.size() / 3, 255);
  return alpha.data();
}

Image finish_orientation(const Source& source, Image image, int orientation) {
  if (source.stored == nullptr) return apply_orientation(std::move(image), orientation);
  source.stored->orientation = orientation;
  return image;
}

void note_kind(const Source& source, PixelKind kind) {
  if (source.stored != nullptr) source.stored->kind = kind;
}

namespace {

Image decode(const Source& source) {
  const SniffedFormat sniffed = sniff_image_format(source.bytes);
  const std::string_view name = source.name;
  try {
    switch (sniffed.format) {
      case ImageFormat::jpeg:
        return decode_jpeg(source);
      case ImageFormat::png:
        return decode_png(source);
      case ImageFormat::bmp:
        return decode_bmp(source);
      case ImageFormat::gif:
        return decode_gif(source);
      case ImageFormat::webp:
        return decode_webp(source);
      case ImageFormat::tiff:
        return decode_tiff(source);
      case ImageFormat::unsupported_picture:
        throw Error(ErrorKind::unsupported,
                    fmt::format("{} is a kind that is not supported", sniffed.name),
                    printable(name), std::string(sniffed.hint));
      case ImageFormat::not_a_picture:
        break;
    }
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::memory, "not enough memory to decode the picture", printable(name),
                "use fewer workers or scale the picture down first");
  }
  throw Error(ErrorKind::input, fmt::format("not a picture: {}", sniffed.name), printable(name),
              std::string(sniffed.hint));
}

}  // namespace
}  // namespace codec

Image decode_image(std::span<const std::uint8_t> bytes, DecodeMode mode, std::string_view name,
                   DecodeLimits limits) {
  return codec::decode({bytes, mode, name, limits});
}

ImagePart decode_image_part(std::span<const std::uint8_t> bytes, DecodeMode mode,
                            std::string_view name, const NeededPixels& needed,
                            DecodeLimits limits) {
  codec::PartRequest request{needed};
  ImagePart part = {codec::decode({bytes, mode, name, limits, nullptr, &request})};
  if (request.served) {
    part.left = request.place.left;
    part.top = request.place.top;
    part.whole_width = request.whole_width;
    part.whole_height = request.whole_height;
  } else {
    part.whole_width = part.pixels.width;
    part.whole_height = part.pixels.height;
  }
  return part;
}

StoredImage decode_stored_image(std::span<const std::uint8_t> bytes, std::string_view name,
                                DecodeLimits limits) {
  StoredImage stored;
  stored.picture.colour = codec::decode({bytes, DecodeMode::photo, name, limits, &stored});
  return stored;
}

Image read_image(const std::string& path, DecodeMode mode, DecodeLimits limits) {
  return decode_image(inputs::read_file(path), mode, path, limits);
}

}  // namespace ttt
