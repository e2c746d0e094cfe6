// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/memory.h"

#include "apps/common/text.h"
#include "core/error.h"
#include "core/log.h"
#include "core/tensor_pool.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <fstream>
#include <malloc.h>
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

/// The largest resident set since the last restart, in bytes.
std::optional<std::int64_t> peak_resident() {
  const std::optional<std::int64_t> kibibytes = number_in("/proc/self/status", "VmHWM:");
  return kibibytes ? std::optional(*kibibytes * 1024) : std::nullopt;
}

/// What was freed, but is kept for later.
void give_back_freed() {
  ::malloc_trim(0);
  trim_tensor_pool();
}

bool restart_peak() {
  give_back_freed();
  std::ofstream file("/proc/self/clear_refs");
  file << "5";  // the kernel's code for the peak of the resident set
  return static_cast<bool>(file.flush());
}

/// Bytes that can be taken beside what this process holds and has freed.
std::optional<std::int64_t> memory_left() {
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

}  // namespace

nlohmann::ordered_json mebibytes(std::optional<std::int64_t> bytes) {
  constexpr int kDigits = 6;
  if (!bytes) return nullptr;
  return significant(static_cast<double>(*bytes) / kMebibyte, kDigits);
}

std::optional<std::int64_t> memory_available() {
  give_back_freed();
  return memory_left();
}

void require_memory(std::int64_t bytes, const std::string& what, const std::string& where,
                    const std::string& hint) {
  const double need = static_cast<double>(bytes) / kMebibyte;
  log_debug("estimated memory: {:.0f} MiB", need);
  // What was freed and kept is asked for again at once, unless it has to go.
  const std::optional<std::int64_t> left = memory_left();
  if (!left || bytes <= *left) return;
  const std::optional<std::int64_t> available = memory_available();
  if (!available || bytes <= *available) return;
  throw Error(ErrorKind::memory,
              fmt::format("{} need about {:.0f} MiB, and {:.0f} MiB are free", what, need,
                          static_cast<double>(*available) / kMebibyte),
              where, hint);
}

PeakMemory::PeakMemory() {
  if (restart_peak()) start_ = peak_resident();
}

std::optional<std::int64_t> PeakMemory::peak() const {
  return start_ ? peak_resident() : std::nullopt;
}

std::optional<std::int64_t> PeakMemory::above_start() const {
  const std::optional<std::int64_t> now = peak();
  return now ? std::optional(std::max<std::int64_t>(0, *now - *start_)) : std::nullopt;
}

}  // namespace ttt::cli
