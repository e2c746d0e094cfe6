// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/frame_writer.h"

#include "core/error.h"
#include "core/log.h"
#include "core/media/decode.h"
#include "core/media/quantize.h"
#include "tests/core/media/media_files.h"
#include "tests/support/paths.h"
#include "tests/support/pictures.h"

#include <gtest/gtest.h>
#include <opencv2/videoio.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ttt {
namespace {

using test::TempDir;

/// A bright disk that moves over a gradient.
Image frame(int i, int width = 96, int height = 64) {
  Image image{width, height, {}};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const bool disk = std::hypot(x - 10 - 5 * i, y - 30) < 9;
      for (int c = 0; c < 3; ++c)
        image.rgb.push_back(
            static_cast<std::uint8_t>(disk ? 250 - 60 * c : (x * (c + 1) + 2 * y) % 200));
    }
  return image;
}

std::vector<std::filesystem::path> write(const std::filesystem::path& path, int frames,
                                         FrameWriterOptions options = {}, int width = 96,
                                         int height = 64) {
  options.frames = frames;
  const auto writer = make_frame_writer(path, options);
  for (int i = 0; i < frames; ++i) writer->add(frame(i, width, height));
  writer->finish();
  return writer->files();
}

double psnr(const Image& a, const Image& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.rgb.size(); ++i) sum += std::pow(int{a.rgb[i]} - int{b.rgb[i]}, 2);
  return -10 * std::log10(sum / static_cast<double>(a.rgb.size()) / 65025);
}

TEST(FrameWriter, SequencesAreLossless) {
  const TempDir folder;
  FrameWriterOptions options;
  options.first_index = 7;
  const auto files = write(folder / "out/v_{index:03}.png", 3, options);
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files[2], folder / "out/v_009.png");
  const auto bytes = test::file_bytes(files[2]);
  EXPECT_EQ(decode_image(bytes, DecodeMode::photo, "png").rgb, frame(2).rgb);
  EXPECT_EQ(write(folder / "frames", 2).at(1), folder / "frames/0001.png");
  EXPECT_EQ(write(folder / "one.PNG", 1).size(), 1U);
}

TEST(FrameWriter, MoviesPlayTheirFrames) {
  const TempDir folder;
  FrameWriterOptions options;
  options.frames_per_second = 24;
  for (const auto& [name, tolerance] : {std::pair{"m.mp4", 27.0}, {"m.avi", 27.0}}) {
    const auto files = write(folder / name, 12, options, 95, 64);
    ASSERT_EQ(files.size(), 1U);
    cv::VideoCapture movie(files[0].string());
    EXPECT_EQ(movie.get(cv::CAP_PROP_FRAME_COUNT), 12) << name;
    EXPECT_NEAR(movie.get(cv::CAP_PROP_FPS), 24, 1e-3) << name;
    EXPECT_EQ(movie.get(cv::CAP_PROP_FRAME_WIDTH), 96) << name;  // even
    cv::Mat bgr;
    ASSERT_TRUE(movie.read(bgr)) << name;
    const Image expected = frame(0, 95, 64);
    Image back{95, 64, {}};
    for (int y = 0; y < 64; ++y)
      for (int x = 0; x < 95; ++x)
        for (int c = 2; c >= 0; --c) back.rgb.push_back(bgr.at<cv::Vec3b>(y, x)[c]);
    EXPECT_GT(psnr(back, expected), tolerance) << name;
  }
  const auto bytes = test::file_bytes(folder / "m.mp4");
  const std::string text(bytes.begin(), bytes.end());
  EXPECT_NE(text.find("avc1"), std::string::npos);
}

/// The delays of a GIF's frames, in 10 ms.
std::vector<int> gif_delays(const std::filesystem::path& path) {
  const auto bytes = test::file_bytes(path);
  std::vector<int> delays;
  for (std::size_t i = 0; i + 8 < bytes.size(); ++i)
    if (bytes[i] == 0x21 && bytes[i + 1] == 0xF9 && bytes[i + 2] == 4 && bytes[i + 7] == 0)
      delays.push_back(bytes[i + 4] | bytes[i + 5] << 8);
  return delays;
}

TEST(FrameWriter, GifsKeepTheirSpeed) {
  const TempDir folder;
  FrameWriterOptions options;
  options.frames_per_second = 30;
  write(folder / "m.gif", 30, options);
  const std::vector<int> delays = gif_delays(folder / "m.gif");
  ASSERT_EQ(delays.size(), 30U);
  EXPECT_EQ(std::accumulate(delays.begin(), delays.end(), 0), 100);  // a second
  std::vector<std::string> lines;
  set_log_callback([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  options.frames_per_second = 120;
  options.overwrite = true;
  write(folder / "m.gif", 5, options);
  set_log_callback({});
  for (const int delay : gif_delays(folder / "m.gif")) EXPECT_EQ(delay, 2);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("50"), std::string::npos);
}

TEST(FrameWriter, GifsLookLikeTheirFrames) {
  const TempDir folder;
  write(folder / "m.gif", 2);
  const auto bytes = test::file_bytes(folder / "m.gif");
  const Image back = decode_image(bytes, DecodeMode::photo, "gif");
  EXPECT_GT(psnr(back, frame(0)), 30);
  const std::string text(bytes.begin(), bytes.end());
  EXPECT_NE(text.find("NETSCAPE2.0"), std::string::npos);
}

TEST(Quantize, FewColoursAreKept) {
  const Image few{4, 1, {1, 2, 3, 250, 0, 0, 1, 2, 3, 9, 9, 9}};
  const IndexedImage out = quantize(few);
  EXPECT_EQ(out.palette.size(), 3U);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      EXPECT_EQ(out.palette[out.indices[i]][c], few.rgb[3 * i + c]);
  EXPECT_EQ(quantize(test::gradient_picture(200, 150)).palette.size(), 256U);
  // Many pixels of few colours beside a large number of rare ones.
  Image rare = test::gradient_picture(64, 64);
  rare.height = 640;
  rare.rgb.resize(std::size_t{64} * 640 * 3, 17);
  EXPECT_LE(quantize(rare).palette.size(), 256U);
}

TEST(FrameWriter, OutputsAreCheckedBeforeTheWork) {
  const TempDir folder;
  const auto kind = [&](const std::string& name, FrameWriterOptions options = {}) {
    try {
      make_frame_writer(folder / name, options);
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::check;
  };
  FrameWriterOptions many;
  many.frames = 3;
  EXPECT_EQ(kind("a.webm"), ErrorKind::usage);
  EXPECT_EQ(kind("a.jpg"), ErrorKind::usage);
  EXPECT_EQ(kind("a.png", many), ErrorKind::usage);
  EXPECT_EQ(kind("a{index}.gif", many), ErrorKind::usage);
  for (const char* name :
       {"a{frame}.png", "a{index:4}.png", "a{index:0x}.png", "a{index.png", "a{index:099}.png"})
    EXPECT_EQ(kind(name, many), ErrorKind::usage) << name;
  FrameWriterOptions odd;
  for (const double rate : {0.0, -1.0, 1e9, std::nan("")}) {
    odd.frames_per_second = rate;
    EXPECT_EQ(kind("a.mp4", odd), ErrorKind::usage) << rate;
  }
  write(folder / "s_{index}.png", 3);
  std::filesystem::remove(folder / "s_0.png");
  for (const char* name : {"s_{index}.png"}) {
    EXPECT_EQ(kind(name, many), ErrorKind::output);
    many.overwrite = true;
    EXPECT_EQ(kind(name, many), ErrorKind::check);
  }
  write(folder / "m.gif", 1);
  EXPECT_EQ(kind("m.gif"), ErrorKind::output);
  EXPECT_EQ(kind("m.gif/inside.png"), ErrorKind::output);
}

TEST(FrameWriter, WithoutFinishMoviesLeaveNothing) {
  const TempDir folder;
  for (const char* name : {"m.gif", "m.mp4"}) {
    {
      const auto writer = make_frame_writer(folder / name, {});
      writer->add(frame(0));
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << name;
    // With it, what came so far is there.
    write(folder / name, 1);
    EXPECT_TRUE(std::filesystem::exists(folder / name));
    std::filesystem::remove(folder / name);
  }
}

TEST(FrameWriter, SizesMustAgree) {
  const TempDir folder;
  const auto writer = make_frame_writer(folder / "m.gif", {});
  writer->add(frame(0));
  EXPECT_THROW(writer->add(frame(0, 50, 64)), Error);
}

}  // namespace
}  // namespace ttt
