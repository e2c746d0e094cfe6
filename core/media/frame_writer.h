// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/media/encode_png.h"
#include "core/media/image.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

namespace ttt {

struct FrameWriterOptions {
  double frames_per_second = 30;
  std::int64_t first_index = 0;  ///< number of the first picture of a sequence
  std::int64_t frames = 1;       ///< how many will come, as far as known: the names checked before
  bool overwrite = false;
  std::vector<PngText> texts;  ///< kept inside PNG files
};

/// Takes pictures one by one and writes them to one file or a sequence of files. All pictures must
/// have the size of the first.
class FrameWriter {
 public:
  virtual ~FrameWriter() = default;
  /// Throws Error(output).
  virtual void add(const Image& image) = 0;
  /// Completes the files; what was added is complete and readable afterwards. Without it, movies
  /// leave nothing behind. Throws Error(output).
  virtual void finish() = 0;
  /// The files written, known after finish().
  virtual std::vector<std::filesystem::path> files() const = 0;
};

/// The writer that an output's name asks for:
/// - `x.png`: one picture; `x_{index}.png` or `x_{index:04}.png`: a sequence; a folder (a name
///   without suffix, or an existing folder): `{index:04}.png` in it
/// - `.mp4` (H.264), `.avi` (motion JPEG), `.gif` (plays for ever; times in steps of 10 ms, so
/// frames
///   differ in length where the rate asks for it; at most 50 frames per second, which is said)
/// The output is opened or its names are checked here, before the work. Throws Error(output) when
/// that fails, and Error(usage) for other suffixes, placeholders and frame rates out of range.
std::unique_ptr<FrameWriter> make_frame_writer(const std::filesystem::path& path,
                                               const FrameWriterOptions& options);

/// `pattern` with `{index}` or `{index:0N}` replaced. Throws Error(usage) for other placeholders.
std::string expand_index(const std::string& pattern, std::int64_t index);

}  // namespace ttt
