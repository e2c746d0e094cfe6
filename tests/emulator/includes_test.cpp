// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// CUDA files launch and do nothing else: graphs record them. They and what they include never see a
// LibTorch header: it would cost half a minute and two gigabytes per file, and the emulator and
// programs without LibTorch could not use them.
#include "tests/support/paths.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <string>

namespace ttt::test {
namespace {

namespace fs = std::filesystem;

/// Follows the includes in quotes from a file; adds all files to `seen`.
void follow(const std::string& file, std::set<std::string>& seen) {
  static const std::regex ours(R"re(^\s*#include "([^"]+)")re");
  static const std::regex torch(R"re(^\s*#include <(ATen|c10|torch|caffe2)/)re");
  if (!seen.insert(file).second) return;
  std::ifstream in(source_dir() / file);
  ASSERT_TRUE(in) << file << " can't be read";
  std::string line;
  std::smatch match;
  while (std::getline(in, line)) {
    EXPECT_FALSE(std::regex_search(line, torch)) << file << ": " << line;
    if (std::regex_search(line, match, ours)) follow(match[1], seen);
  }
}

TEST(CudaFiles, IncludeNoLibTorchHeader) {
  int files = 0;
  std::set<std::string> seen;
  for (const fs::directory_entry& op : fs::directory_iterator(source_dir() / "kernels")) {
    const fs::path file = op.path() / "cuda.cu";
    if (!fs::exists(file)) continue;
    ++files;
    follow(fs::relative(file, source_dir()).generic_string(), seen);
  }
  EXPECT_GE(files, 4);
  EXPECT_TRUE(seen.contains("kernels/support/cuda_tile.cuh"));
}

/// Such calls wait for the device or take memory that a graph's replays would not own.
TEST(CudaFiles, NeitherWaitNorTakeMemoryOfTheirOwn) {
  static const std::regex forbidden(
      R"re(cuda\w*(Synchronize|Malloc|Free|Memcpy|Memset|StreamCreate)|cublas|\.item[<(]|\.cpu\(\))re");
  int files = 0;
  for (const fs::directory_entry& entry :
       fs::recursive_directory_iterator(source_dir() / "kernels")) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("cuda") && !name.ends_with(".cuh")) continue;
    ++files;
    std::ifstream in(entry.path());
    std::string line;
    while (std::getline(in, line))
      EXPECT_FALSE(std::regex_search(line, forbidden)) << entry.path() << ": " << line;
  }
  EXPECT_GE(files, 30);
}

}  // namespace
}  // namespace ttt::test
