// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"
#include "core/log.h"
#include "core/media/movie_writers.h"
#include "core/media/quantize.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <gif_lib.h>

namespace ttt {
namespace codec {
namespace {

constexpr double kMaxRate = 50;  // players slow down what is shorter than two steps
constexpr double kStepsPerSecond = 100;

struct ColorMapDeleter {
  void operator()(ColorMapObject* map) const { GifFreeMapObject(map); }
};
using ColorMap = std::unique_ptr<ColorMapObject, ColorMapDeleter>;

ColorMap color_map(const IndexedImage& image) {
  // GIF stores tables of 2, 4, … 256 colours.
  const int size = std::max<int>(2, static_cast<int>(std::bit_ceil(image.palette.size())));
  ColorMap map(GifMakeMapObject(size, nullptr));
  TTT_CHECK(map != nullptr, memory, "not enough memory for a colour table");
  for (std::size_t i = 0; i < image.palette.size(); ++i)
    map->Colors[i] = {image.palette[i][0], image.palette[i][1], image.palette[i][2]};
  return map;
}

/// One palette a frame; frames go to the file as they come.
class GifWriter final : public FrameWriter {
 public:
  GifWriter(const std::filesystem::path& path, const FrameWriterOptions& options)
      : path_(path), file_(path), rate_(std::min(options.frames_per_second, kMaxRate)) {
    if (options.frames_per_second > kMaxRate)
      log_warning("{}: a GIF plays at most {} frames per second, not {}; it will run slower",
                  printable(path.string()), kMaxRate, options.frames_per_second);
    int error = 0;
    gif_ = EGifOpen(&file_.stream(), write, &error);
    TTT_CHECK(gif_ != nullptr, memory, "the GIF writer can't be set up", printable(path.string()));
    EGifSetGifVersion(gif_, true);
  }
  ~GifWriter() override { close(); }

  void add(const Image& image) override {
    if (frames_ == 0) begin(image);
    check_frame(first_, image);
    const IndexedImage indexed = quantize(image);
    const ColorMap map = color_map(indexed);
    // Each frame ends where it should on a clock of 10 ms, so that roundings don't add up.
    const auto time_of = [&](std::int64_t frame) {
      return std::llround(static_cast<double>(frame) * kStepsPerSecond / rate_);
    };
    GraphicsControlBlock control{};
    control.DisposalMode = DISPOSE_DO_NOT;
    control.DelayTime = static_cast<int>(time_of(frames_ + 1) - time_of(frames_));
    control.TransparentColor = NO_TRANSPARENT_COLOR;
    GifByteType extension[4];
    EGifGCBToExtension(&control, extension);
    check(EGifPutExtension(gif_, GRAPHICS_EXT_FUNC_CODE, sizeof extension, extension));
    check(EGifPutImageDesc(gif_, 0, 0, image.width, image.height, false, map.get()));
    std::vector<std::uint8_t> row(static_cast<std::size_t>(image.width));
    for (int y = 0; y < image.height; ++y) {
      std::copy_n(indexed.indices.begin() + std::ptrdiff_t{y} * image.width, image.width,
                  row.begin());
      check(EGifPutLine(gif_, row.data(), image.width));
    }
    ++frames_;
  }

  void finish() override {
    if (finished_ || frames_ == 0) return;
    check(close());
    file_.commit();
    finished_ = true;
  }
  std::vector<std::filesystem::path> files() const override {
    return finished_ ? std::vector{path_} : std::vector<std::filesystem::path>{};
  }

 private:
  static int write(GifFileType* gif, const GifByteType* bytes, int count) {
    auto* stream = static_cast<std::ostream*>(gif->UserData);
    stream->write(reinterpret_cast<const char*>(bytes), count);
    return *stream ? count : 0;
  }
  void check(int result) {
    TTT_CHECK(result == GIF_OK, output, "writing failed", printable(path_.string()),
              "check the free space on that disk");
  }
  void begin(const Image& image) {
    constexpr int kMaxSide = 65535;
    check_frame(image, image);
    TTT_CHECK(image.width <= kMaxSide && image.height <= kMaxSide, output,
              fmt::format("a GIF can't hold {}x{} pixels", image.width, image.height),
              printable(path_.string()), "write .mp4 or .png");
    first_ = {image.width, image.height, {}};
    check(EGifPutScreenDesc(gif_, image.width, image.height, 8, 0, nullptr));
    // Repeat for ever.
    constexpr unsigned char kApplication[] = "NETSCAPE2.0";
    constexpr unsigned char kLoop[] = {1, 0, 0};
    check(EGifPutExtensionLeader(gif_, APPLICATION_EXT_FUNC_CODE));
    check(EGifPutExtensionBlock(gif_, 11, kApplication));
    check(EGifPutExtensionBlock(gif_, sizeof kLoop, kLoop));
    check(EGifPutExtensionTrailer(gif_));
  }
  int close() {
    if (gif_ == nullptr) return GIF_OK;
    int error = 0;
    const int result = EGifCloseFile(gif_, &error);
    gif_ = nullptr;
    return result;
  }

  std::filesystem::path path_;
  AtomicFile file_;
  double rate_;
  GifFileType* gif_ = nullptr;
  Image first_;  // its size
  std::int64_t frames_ = 0;
  bool finished_ = false;
};

}  // namespace

std::unique_ptr<FrameWriter> make_gif_writer(const std::filesystem::path& path,
                                             const FrameWriterOptions& options) {
  return std::make_unique<GifWriter>(path, options);
}

}  // namespace codec

}  // namespace ttt
