// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"
#include "core/log.h"
#include "core/media/movie_writers.h"

#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>
#include <spdlog/fmt/fmt.h>

namespace ttt::codec {
namespace {

/// H.264 halves the colour planes, so its sides are even: an odd side gets its last line twice.
cv::Size even(const Image& image) {
  return {(image.width + 1) / 2 * 2, (image.height + 1) / 2 * 2};
}

class VideoWriter final : public FrameWriter {
 public:
  VideoWriter(const std::filesystem::path& path, const FrameWriterOptions& options)
      : path_(path), file_(path), rate_(options.frames_per_second) {}

  void add(const Image& image) override {
    if (frames_ == 0) begin(image);
    check_frame(first_, image);
    const cv::Mat rgb(image.height, image.width, CV_8UC3, const_cast<std::uint8_t*>(image.row(0)));
    cv::Mat bgr;
    cv::cvtColor(rgb, bgr, cv::COLOR_RGB2BGR);
    const cv::Size size = even(image);
    if (size != bgr.size())
      cv::copyMakeBorder(bgr, bgr, 0, size.height - image.height, 0, size.width - image.width,
                         cv::BORDER_REPLICATE);
    writer_.write(bgr);
    ++frames_;
  }

  void finish() override {
    if (finished_ || frames_ == 0) return;
    writer_.release();
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
    const int code = mp4 ? cv::VideoWriter::fourcc('a', 'v', 'c', '1')
                         : cv::VideoWriter::fourcc('M', 'J', 'P', 'G');
    if (even(image) != cv::Size(image.width, image.height))
      log_info("{}: {}x{} becomes {}x{}, since video sides are even", printable(path_.string()),
               image.width, image.height, even(image).width, even(image).height);
    const std::string name = file_.temporary_path().string();
    const bool opened = mp4 ? writer_.open(name, cv::CAP_FFMPEG, code, rate_, even(image))
                            : writer_.open(name, cv::CAP_OPENCV_MJPEG, code, rate_, even(image));
    TTT_CHECK(opened, output,
              fmt::format("this OpenCV can't write {} video of {}x{} pixels",
                          mp4 ? "H.264" : "motion JPEG", image.width, image.height),
              printable(path_.string()), "write .gif or .png, or an OpenCV with FFmpeg");
  }
  /// The writer doesn't tell about errors, so the file is asked what it holds.
  void check_written() {
    cv::VideoCapture movie(file_.temporary_path().string());
    const auto held = static_cast<std::int64_t>(movie.get(cv::CAP_PROP_FRAME_COUNT));
    TTT_CHECK(movie.isOpened() && held == frames_, output,
              fmt::format("writing failed: the file holds {} of {} frames",
                          movie.isOpened() ? held : 0, frames_),
              printable(path_.string()), "check the free space on that disk");
  }

  std::filesystem::path path_;
  AtomicFile file_;
  double rate_;
  cv::VideoWriter writer_;
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
