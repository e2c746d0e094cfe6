// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/movie/movie.h"

#include <opencv2/imgproc.hpp>
#include <opencv2/videoio.hpp>

#include <string>

namespace ttt::codec {
namespace {

class OpenCvMovie final : public Movie {
 public:
  bool open(const char* path, bool mp4, double frames_per_second, int width, int height) override {
    path_ = path;
    size_ = {width, height};
    return mp4 ? writer_.open(path_, cv::CAP_FFMPEG, cv::VideoWriter::fourcc('a', 'v', 'c', '1'),
                              frames_per_second, size_)
               : writer_.open(path_, cv::CAP_OPENCV_MJPEG,
                              cv::VideoWriter::fourcc('M', 'J', 'P', 'G'), frames_per_second,
                              size_);
  }

  void write(const std::uint8_t* rgb, int width, int height) override {
    // OpenCV has no Mat over const memory; the source is only read.
    const cv::Mat source(height, width, CV_8UC3, const_cast<std::uint8_t*>(rgb));
    cv::Mat frame;
    cv::cvtColor(source, frame, cv::COLOR_RGB2BGR);
    if (size_ != frame.size())
      cv::copyMakeBorder(frame, frame, 0, size_.height - height, 0, size_.width - width,
                         cv::BORDER_REPLICATE);
    writer_.write(frame);
  }

  std::int64_t close() override {
    writer_.release();
    cv::VideoCapture movie(path_);
    return movie.isOpened() ? static_cast<std::int64_t>(movie.get(cv::CAP_PROP_FRAME_COUNT)) : -1;
  }

 private:
  std::string path_;
  cv::Size size_;
  cv::VideoWriter writer_;
};

}  // namespace
}  // namespace ttt::codec

/// A new movie, owned by the caller.
extern "C" ttt::codec::Movie* ttt_make_movie() {
  return new ttt::codec::OpenCvMovie;
}
