// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ttt::codec {

/// What core/media asks of the library that encodes movies. It reports by return values alone and
/// uses nothing else of ttt, so that it can be a module that is opened when a movie is written:
/// OpenCV's video library brings a hundred others, which would triple the start-up time of every
/// program.
class Movie {
 public:
  virtual ~Movie() = default;
  /// H.264 in an mp4 file, or motion JPEG in an avi file. Sides are even.
  virtual bool open(const char* path, bool mp4, double frames_per_second, int width,
                    int height) = 0;
  /// An 8-bit RGB picture; a last column or row that is missing is repeated.
  virtual void write(const std::uint8_t* rgb, int width, int height) = 0;
  /// Completes the file and reads it back. Returns the number of frames in it, or -1.
  virtual std::int64_t close() = 0;
};

}  // namespace ttt::codec
