// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/codec.h"
#include "core/media/orientation.h"

#include <memory>
#include <webp/decode.h>
#include <webp/demux.h>

namespace ttt::codec {
namespace {

constexpr std::string_view kFormat = "WebP";

using Demuxer = std::unique_ptr<WebPDemuxer, decltype(&WebPDemuxDelete)>;

int orientation_of(const WebPDemuxer* demuxer) {
  WebPChunkIterator chunk{};
  int orientation = 1;
  if (WebPDemuxGetChunk(demuxer, "EXIF", 1, &chunk) != 0)
    orientation = exif_orientation({chunk.chunk.bytes, chunk.chunk.size});
  WebPDemuxReleaseChunkIterator(&chunk);
  return orientation;
}

/// Puts the frame's samples (RGBA) on the canvas; outside of it the picture keeps its colour.
void place_frame(const Source& source, const WebPIterator& frame, const std::uint8_t* rgba,
                 bool alpha, Image& image) {
  std::uint8_t* plane = alpha ? make_alpha(source, image) : nullptr;
  // Around the first frame of an animation the canvas is transparent.
  if (plane != nullptr) std::fill_n(plane, source.stored->picture.alpha.size(), std::uint8_t{0});
  for (int y = 0; y < frame.height; ++y) {
    const std::ptrdiff_t at = std::ptrdiff_t{frame.y_offset + y} * image.width + frame.x_offset;
    std::uint8_t* to = image.rgb.data() + 3 * at;
    for (int x = 0; x < frame.width; ++x, rgba += 4, to += 3) {
      if (plane != nullptr) plane[at + x] = rgba[3];
      const bool composite = alpha && !source.official() && plane == nullptr;
      for (int c = 0; c < 3; ++c) to[c] = composite ? over_white(rgba[c], rgba[3]) : rgba[c];
    }
  }
}

Image decode_first_frame(const Source& source, const WebPDemuxer* demuxer, WebPIterator& frame) {
  if (WebPDemuxGetFrame(demuxer, 1, &frame) == 0)
    fail_damaged(source, kFormat, "no picture inside");
  if (frame.complete == 0) fail_damaged(source, kFormat, "the file ends too early");
  const std::int64_t width = WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_WIDTH);
  const std::int64_t height = WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_HEIGHT);
  check_size(source, kFormat, width, height);
  if (frame.x_offset < 0 || frame.y_offset < 0 || frame.width > width - frame.x_offset ||
      frame.height > height - frame.y_offset)
    fail_damaged(source, kFormat, "a frame lies outside the picture");

  std::vector<std::uint8_t> rgba(std::size_t{4} * static_cast<std::size_t>(frame.width) *
                                 static_cast<std::size_t>(frame.height));
  if (WebPDecodeRGBAInto(frame.fragment.bytes, frame.fragment.size, rgba.data(), rgba.size(),
                         4 * frame.width) == nullptr)
    fail_damaged(source, kFormat, "the compressed data is invalid");
  Image image = make_image(width, height);
  const bool alpha = (WebPDemuxGetI(demuxer, WEBP_FF_FORMAT_FLAGS) & ALPHA_FLAG) != 0;
  if (!source.official()) std::fill(image.rgb.begin(), image.rgb.end(), std::uint8_t{255});
  note_kind(source, alpha ? PixelKind::rgba : PixelKind::rgb);
  place_frame(source, frame, rgba.data(), alpha || frame.has_alpha != 0, image);
  return image;
}

}  // namespace

Image decode_webp(const Source& source) {
  const WebPData data{source.bytes.data(), source.bytes.size()};
  const Demuxer demuxer(WebPDemux(&data), WebPDemuxDelete);
  if (demuxer == nullptr)
    fail_damaged(source, kFormat, "the container is invalid or ends too early");
  WebPIterator frame{};
  try {
    Image image = decode_first_frame(source, demuxer.get(), frame);
    WebPDemuxReleaseIterator(&frame);
    if (source.official()) return image;
    return finish_orientation(source, std::move(image), orientation_of(demuxer.get()));
  } catch (...) {
    WebPDemuxReleaseIterator(&frame);
    throw;
  }
}

}  // namespace ttt::codec
