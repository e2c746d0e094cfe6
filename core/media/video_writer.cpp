// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"
#include "core/log.h"
#include "core/media/movie/movie.h"
#include "core/media/movie_writers.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <dlfcn.h>

namespace ttt::codec {
namespace {

/// H.264 halves the colour planes, so its sides are even: an odd side gets its last line twice.
int even(int side) {
  return (side + 1) / 2 * 2;
}

/// Opens the module at the first movie.
std::unique_ptr<Movie> make_movie(const std::filesystem::path& path) {
  void* module = ::dlopen("libttt_movie.so", RTLD_NOW | RTLD_LOCAL);
  void* make = module != nullptr ? ::dlsym(module, "ttt_make_movie") : nullptr;
  TTT_CHECK(make != nullptr, output,
            fmt::format("the movie library can't be opened: {}", printable(::dlerror())),
            printable(path.string()), "write .gif or .png, or install ttt again");
  return std::unique_ptr<Movie>(reinterpret_cast<Movie* (*)()>(make)());
}

class VideoWriter final : public FrameWriter {
 public:
  VideoWriter(const std::filesystem::path& path, const FrameWriterOptions& options)
      : path_(path), file_(path), rate_(options.frames_per_second), movie_(make_movie(path)) {}

  void add(const Image& image) override {
    if (frames_ == 0) begin(image);
    check_frame(first_, image);
    movie_->write(image.row(0), image.width, image.height);
    ++frames_;
  }

  void finish() override {
    if (finished_ || frames_ == 0) return;
    check_written();
    file_.commit();
    finished_ = true;
  }
  std::vector<std::filesystem::path> files() const override {
    return finished_ ? std::vector{path_} : std::vector<std::filesystem::path>{};
  }

 private:
  void begin(const Image& image) {
    check_frame(image, image);
    first_ = {image.width, image.height, {}};
    const bool mp4 = file_.temporary_path().extension() != ".avi";
    const int width = even(image.width), height = even(image.height);
    if (width != image.width || height != image.height)
      log_info("{}: {}x{} becomes {}x{}, since video sides are even", printable(path_.string()),
               image.width, image.height, width, height);
    const bool opened = movie_->open(file_.temporary_path().c_str(), mp4, rate_, width, height);
    TTT_CHECK(opened, output,
              fmt::format("this OpenCV can't write {} video of {}x{} pixels",
                          mp4 ? "H.264" : "motion JPEG", image.width, image.height),
              printable(path_.string()), "write .gif or .png, or an OpenCV with FFmpeg");
  }
  /// The writer doesn't tell about errors, so the file is asked what it holds.
  void check_written() {
    const std::int64_t held = std::max<std::int64_t>(0, movie_->close());
    TTT_CHECK(held == frames_, output,
              fmt::format("writing failed: the file holds {} of {} frames", held, frames_),
              printable(path_.string()), "check the free space on that disk");
  }

  std::filesystem::path path_;
  AtomicFile file_;
  double rate_;
  std::unique_ptr<Movie> movie_;
  Image first_;  // its size
  std::int64_t frames_ = 0;
  bool finished_ = false;
};

}  // namespace

std::unique_ptr<FrameWriter> make_video_writer(const std::filesystem::path& path,
                                               const FrameWriterOptions& options) {
  return std::make_unique<VideoWriter>(path, options);
}

}  // namespace ttt::codec
