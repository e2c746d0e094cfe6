// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/frame_writer.h"

#include "core/atomic_file.h"
#include "core/error.h"
#include "core/media/movie_writers.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>

namespace ttt {
namespace fs = std::filesystem;
namespace codec {

void check_frame(const Image& first, const Image& image) {
  TTT_CHECK(image.width > 0 && image.height > 0, internal, "an empty picture can't be written");
  TTT_CHECK(image.width == first.width && image.height == first.height, internal,
            fmt::format("pictures of one output differ in size: {}x{} and {}x{}", first.width,
                        first.height, image.width, image.height));
}

}  // namespace codec

namespace {

constexpr std::string_view kPlaceholder = "{index";

class PngWriter final : public FrameWriter {
 public:
  PngWriter(std::string pattern, const FrameWriterOptions& options)
      : pattern_(std::move(pattern)), options_(options) {
    if (!numbered())
      TTT_CHECK(options.frames <= 1, usage,
                fmt::format("{} pictures don't go into one PNG", options.frames),
                printable(pattern_), "put {index:04} into the name, or write .mp4 or .gif");
    for (std::int64_t i = 0; i < std::max<std::int64_t>(options.frames, 1); ++i)
      if (i == 0)
        check_writable(name_of(i), options.overwrite);
      else
        TTT_CHECK(options.overwrite || !fs::exists(name_of(i)), output, "the output exists already",
                  printable(name_of(i).string()),
                  "give --overwrite to replace it, or another name");
  }

  void add(const Image& image) override {
    TTT_CHECK(numbered() || files_.empty(), internal, "a second picture for one PNG",
              printable(pattern_));
    const fs::path path = name_of(static_cast<std::int64_t>(files_.size()));
    write_file(path, encode_png(image, options_.texts));
    files_.push_back(path);
  }
  void finish() override {}
  std::vector<fs::path> files() const override { return files_; }

 private:
  bool numbered() const { return pattern_.find(kPlaceholder) != std::string::npos; }
  fs::path name_of(std::int64_t i) const {
    return expand_index(pattern_, options_.first_index + i);
  }

  std::string pattern_;
  FrameWriterOptions options_;
  std::vector<fs::path> files_;
};

std::string lower_suffix(const fs::path& path) {
  std::string suffix = path.extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return suffix;
}

}  // namespace

std::string expand_index(const std::string& pattern, std::int64_t index) {
  std::string out;
  for (std::size_t at = 0; at < pattern.size();) {
    if (pattern[at] != '{') {
      out.push_back(pattern[at++]);
      continue;
    }
    const std::size_t end = pattern.find('}', at);
    const std::string_view inside = end == std::string::npos
                                        ? std::string_view{}
                                        : std::string_view(pattern).substr(at + 1, end - at - 1);
    std::size_t digits = 0;
    bool known = inside == "index";
    if (inside.starts_with("index:0")) {
      const char* last = inside.data() + inside.size();
      const auto [stop, error] = std::from_chars(inside.data() + 7, last, digits);
      known = error == std::errc{} && stop == last && digits <= 20;
    }
    TTT_CHECK(known, usage, fmt::format("unknown placeholder {{{}}}", printable(inside)),
              printable(pattern), "use {index} or {index:04}");
    out += fmt::format("{:0{}}", index, digits);
    at = end + 1;
  }
  return out;
}

std::unique_ptr<FrameWriter> make_frame_writer(const fs::path& path,
                                               const FrameWriterOptions& options) {
  TTT_CHECK(options.frames_per_second >= 0.1 && options.frames_per_second <= 1000, usage,
            fmt::format("{} frames per second is out of range", options.frames_per_second), {},
            "give a rate from 0.1 to 1000");
  TTT_CHECK(options.first_index >= 0, usage, "the first index is negative", {}, "start at 0 or 1");
  const std::string suffix = lower_suffix(path);
  std::error_code ignored;
  const bool folder = suffix.empty() || path.filename().empty() || fs::is_directory(path, ignored);
  if (folder) return std::make_unique<PngWriter>((path / "{index:04}.png").string(), options);
  if (suffix == ".png") return std::make_unique<PngWriter>(path.string(), options);
  TTT_CHECK(suffix == ".gif" || suffix == ".mp4" || suffix == ".avi", usage,
            fmt::format("{} files can't be written", printable(suffix)), printable(path.string()),
            "give a name that ends in .png, .mp4, .gif or .avi, or a folder");
  TTT_CHECK(path.string().find('{') == std::string::npos, usage,
            "a movie is one file, so its name takes no placeholder", printable(path.string()),
            "leave the placeholder out, or write .png files");
  check_writable(path, options.overwrite);
  return suffix == ".gif" ? codec::make_gif_writer(path, options)
                          : codec::make_video_writer(path, options);
}

}  // namespace ttt
