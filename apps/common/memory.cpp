// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/memory.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace ttt::cli {
namespace {

/// First number of a line like "MemAvailable:   123 kB" or of a file that is just a number.
std::optional<std::int64_t> number_in(const std::string& path, const std::string& label) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(label)) continue;
    std::int64_t value = 0;
    if (std::istringstream(line.substr(label.size())) >> value) return value;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> memory_available() {
  const std::optional<std::int64_t> kibibytes = number_in("/proc/meminfo", "MemAvailable:");
  if (!kibibytes) return std::nullopt;
  std::int64_t available = *kibibytes * 1024;
  // A container's own limit, where there is one ("max" is not a number).
  const auto limit = number_in("/sys/fs/cgroup/memory.max", "");
  const auto used = number_in("/sys/fs/cgroup/memory.current", "");
  const auto cache = number_in("/sys/fs/cgroup/memory.stat", "inactive_file ");
  if (limit && used)
    available = std::min(available, std::max<std::int64_t>(0, *limit - *used + cache.value_or(0)));
  return available;
}

}  // namespace ttt::cli
