// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// Damages the small files of data/ in many ways. Whatever comes: a picture of a sane size or an
// Error, never a crash. The seed is fixed; TTT_MUTATIONS multiplies the work.
#include "core/error.h"
#include "core/media/decode.h"
#include "tests/core/media/media_files.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

namespace ttt {
namespace {

using Bytes = std::vector<std::uint8_t>;

void expect_picture_or_error(const Bytes& bytes, DecodeMode mode) {
  constexpr DecodeLimits kLimits{.max_pixels = 1 << 20, .max_side = 1 << 16};
  try {
    const Image image = decode_image(bytes, mode, "mutant", kLimits);
    EXPECT_GT(image.width, 0);
    EXPECT_GT(image.height, 0);
    EXPECT_EQ(image.rgb.size(), std::size_t{3} * static_cast<std::size_t>(image.width) *
                                    static_cast<std::size_t>(image.height));
  } catch (const Error& error) {
    EXPECT_TRUE(error.kind() == ErrorKind::input || error.kind() == ErrorKind::unsupported)
        << error.what();
  }
}

Bytes mutate(Bytes bytes, std::mt19937& random) {
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
  const std::size_t kind = below(4);
  if (kind == 0) bytes.resize(below(bytes.size()));
  if (kind == 1 && bytes.size() > 8) {
    const auto at = bytes.begin() + static_cast<std::ptrdiff_t>(below(bytes.size() - 8));
    bytes.erase(at, at + static_cast<std::ptrdiff_t>(1 + below(8)));
  }
  // Most fields that matter are near the beginning.
  for (std::size_t i = 0; !bytes.empty() && kind >= 2 && i < 1 + below(4); ++i) {
    const std::size_t reach =
        below(2) == 0 ? std::min<std::size_t>(bytes.size(), 80) : bytes.size();
    static constexpr std::uint8_t kValues[] = {0, 1, 0x7F, 0x80, 0xFF};
    bytes[below(reach)] = kind == 2 ? kValues[below(5)] : static_cast<std::uint8_t>(random());
  }
  return bytes;
}

TEST(Mutation, DamagedFilesNeverCrashTheDecoder) {
  const char* setting = std::getenv("TTT_MUTATIONS");
  const int rounds = 60 * (setting == nullptr ? 1 : std::atoi(setting));
  std::mt19937 random(20240607);
  for (const auto& path : test::data_files()) {
    SCOPED_TRACE(path);
    const Bytes bytes = test::file_bytes(path);
    for (int round = 0; round < rounds; ++round) {
      const Bytes mutant = mutate(bytes, random);
      expect_picture_or_error(mutant, DecodeMode::photo);
      expect_picture_or_error(mutant, DecodeMode::official);
    }
  }
}

}  // namespace
}  // namespace ttt
