// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/orientation.h"
#include "core/media/part.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/target.h"

#include <algorithm>
#include <optional>

namespace ttt::fuzz {
namespace {

/// Small, so that a run stays fast; the memory bound below follows from it.
constexpr DecodeLimits kLimits{.max_pixels = 1 << 20, .max_side = 1 << 16};
constexpr std::uint64_t kMemory = std::uint64_t{96} << 20;

std::span<const std::uint8_t> as_bytes(std::string_view bytes) {
  return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

void add_pixels(const Image& image, Digest& digest) {
  digest.add(static_cast<std::uint64_t>(image.width));
  digest.add({reinterpret_cast<const char*>(image.rgb.data()), image.rgb.size()});
}

std::optional<Image> decode(std::string_view bytes, DecodeMode mode, Digest& digest) {
  try {
    Image image = decode_image(as_bytes(bytes), mode, "picture", kLimits);
    require(image.width > 0 && image.height > 0, "a picture has no pixels");
    const std::int64_t pixels = std::int64_t{image.width} * image.height;
    require(pixels <= kLimits.max_pixels && image.width <= kLimits.max_side &&
                image.height <= kLimits.max_side,
            "a picture is larger than allowed");
    require(image.rgb.size() == static_cast<std::size_t>(pixels) * 3,
            "a picture's data doesn't fit its size");
    add_pixels(image, digest);
    return image;
  } catch (const Error& error) {
    check_error(error, {ErrorKind::input, ErrorKind::unsupported}, true, digest);
    return std::nullopt;
  }
}

/// A part of a picture has the pixels of the whole, and fails where that fails.
void check_part(std::string_view bytes, DecodeMode mode, const std::optional<Image>& whole) {
  const auto middle = [](int width, int height) {
    return PixelRect{width / 3, height / 4, (width + 2) / 3, (height + 1) / 2};
  };
  std::optional<ImagePart> part;
  try {
    part = decode_image_part(as_bytes(bytes), mode, "picture", middle, kLimits);
  } catch (const Error&) {
  }
  require(part.has_value() == whole.has_value(), "a part of a picture fails unlike the whole");
  if (!part) return;
  PixelRect rect = middle(whole->width, whole->height);
  const Image expected = crop(*whole, rect);
  rect.left -= part->left;
  rect.top -= part->top;
  require(crop(part->pixels, rect).rgb == expected.rgb, "a part of a picture has other pixels");
}

/// The way on to a model's input, for pictures of any shape.
void preprocess(const Image& image, Digest& digest) {
  const PreprocessOptions options{.width = 8, .height = 8};
  try {
    const Image small = resize_and_crop(image, options);
    require(small.width == 8 && small.height == 8, "a resized picture has the wrong size");
    add_pixels(small, digest);
  } catch (const Error& error) {
    check_error(error, {ErrorKind::input}, true, digest);
  }
}

Outcome read_picture(std::string_view bytes) {
  Digest digest;
  const std::optional<Image> photo = decode(bytes, DecodeMode::photo, digest);
  const std::optional<Image> official = decode(bytes, DecodeMode::official, digest);
  if (photo && official)
    require(
        std::minmax(photo->width, photo->height) == std::minmax(official->width, official->height),
        "the two ways to decode disagree about the size");
  check_part(bytes, DecodeMode::photo, photo);
  check_part(bytes, DecodeMode::official, official);
  if (photo) preprocess(*photo, digest);
  return {photo.has_value(), digest.value()};
}

Outcome read_orientation(std::string_view bytes) {
  const int orientation = exif_orientation(as_bytes(bytes));
  require(orientation >= 1 && orientation <= 8, "an orientation is out of range");
  return {orientation != 1, static_cast<std::uint64_t>(orientation)};
}

}  // namespace

std::vector<Target> picture_targets() {
  constexpr std::string_view kData = "tests/core/media/data";
  constexpr std::string_view kOwn = "tests/fuzz/corpus/picture";
  const auto target = [&](std::string_view name, const Format& (*format)(),
                          std::vector<std::string_view> suffixes) {
    Target made{name, format, {}, read_picture, kMemory, 64};
    for (const std::string_view suffix : suffixes) {
      made.seeds.push_back({kData, suffix});
      made.seeds.push_back({kOwn, suffix});
    }
    return made;
  };
  return {
      target("jpeg", jpeg_format, {".jpg"}),
      target("png", png_format, {".png"}),
      target("bmp", nullptr, {".bmp"}),
      target("gif", nullptr, {".gif"}),
      target("tiff", tiff_format, {".tif"}),
      target("webp", riff_format, {".webp"}),
      // Any of them, and what isn't a picture.
      target("picture", nullptr, {".jpg", ".png", ".bmp", ".gif", ".tif", ".webp", ".txt", ".bin"}),
      {"orientation",
       tiff_format,
       {{"tests/fuzz/corpus/orientation", ".exif"}},
       read_orientation,
       1 << 20,
       1}};
}

}  // namespace ttt::fuzz
