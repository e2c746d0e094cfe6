// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/memory.h"

#include "core/tensor_pool.h"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace ttt::cli {
namespace {

#ifndef __SANITIZE_ADDRESS__  // there freed memory isn't kept

std::int64_t resident_kibibytes() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("VmRSS:")) return std::stoll(line.substr(6));
  return 0;
}

// A second measurement of a sweep, or a second scene, was refused for what the first one had left.
TEST(MemoryAvailable, CountsWhatFreedTensorsHold) {
  constexpr std::int64_t kKibibytes = std::int64_t{128} << 10;
  use_tensor_pool();
  const std::int64_t start = resident_kibibytes();
  at::ones({kKibibytes / 4 * 1024});  // of 4 bytes, and freed at once
  ASSERT_GT(resident_kibibytes(), start + kKibibytes / 2);
  if (!memory_available()) GTEST_SKIP() << "this system doesn't tell";
  EXPECT_LT(resident_kibibytes(), start + kKibibytes / 2);
}

#endif

}  // namespace
}  // namespace ttt::cli
