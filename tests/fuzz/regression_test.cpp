// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// The fuzzer's seeds and every input that once broke a reader, in the ordinary build.
#include "tests/fuzz/target.h"

#include <gtest/gtest.h>

#include <exception>

namespace ttt::fuzz {
namespace {

/// Whether the reader took it; a failure for anything but a picture, weights, … or a proper Error.
bool read_file(const Target& target, const std::filesystem::path& path) {
  try {
    return target.read(read_bytes(path)).accepted;
  } catch (const std::exception& exception) {
    ADD_FAILURE() << target.name << ": " << path << ": " << exception.what();
    return false;
  }
}

TEST(FuzzRegressions, PastFailuresStayMended) {
  for (const Target& target : targets())
    for (const auto& path : regression_files(target)) read_file(target, path);
}

TEST(FuzzRegressions, EveryFolderBelongsToATarget) {
  for (const auto& entry :
       std::filesystem::directory_iterator(source_folder() / "tests/fuzz/regressions"))
    EXPECT_NE(find_target(entry.path().filename().string()), nullptr) << entry.path();
}

TEST(FuzzSeeds, EveryTargetReadsSomeOfItsSeeds) {
  for (const Target& target : targets()) {
    int accepted = 0;
    for (const auto& path : seed_files(target)) accepted += read_file(target, path) ? 1 : 0;
    EXPECT_GT(accepted, 0) << target.name;
  }
}

TEST(FuzzMutants, SeedAndIndexNameAnInput) {
  for (const Target& target : targets()) {
    const std::vector<std::string> seeds = read_seeds(target);
    const std::string first = make_input(target, seeds, 7, 0);
    EXPECT_EQ(first, make_input(target, seeds, 7, 0)) << target.name;
    int different = 0;
    for (std::uint64_t index = 1; index <= 10; ++index)
      different += make_input(target, seeds, 7, index) != first ? 1 : 0;
    EXPECT_GT(different, 5) << target.name;
  }
}

/// A format that didn't mend lengths and checksums would never get a mutant past the first check.
TEST(FuzzMutants, PartsPutTogetherAgainAreRead) {
  for (const Target& target : targets()) {
    if (target.format == nullptr) continue;
    int seeds = 0;
    int read = 0;
    for (const auto& path : seed_files(target)) {
      if (!read_file(target, path)) continue;
      ++seeds;
      // Once in a while a format puts in a fault.
      for (std::uint64_t index = 0; index < 10; ++index) {
        Random random(3, index);
        const Format& format = target.format();
        const std::string joined = format.join(format.split(read_bytes(path), random), random);
        if (!target.read(joined).accepted) continue;
        ++read;
        break;
      }
    }
    EXPECT_GE(read, (seeds * 3 + 3) / 4) << target.name << ": " << read << " of " << seeds;
  }
}

}  // namespace
}  // namespace ttt::fuzz
