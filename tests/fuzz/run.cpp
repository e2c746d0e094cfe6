// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/run.h"

#include "core/log.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/watch.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <unistd.h>

namespace ttt::fuzz {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kMaxFailures = 20;

/// What is being read, for a report that may come in the middle of it.
struct Current {
  const char* program = "fuzz_readers";
  std::string target;
  std::string_view bytes;
  std::array<char, 4096> path{};  ///< where the bytes are, or are to be written
  bool written = false;           ///< they come from that file
  bool active = false;
} current;

bool unprintable_log = false;

/// Allocates nothing.
void report() {
  if (!current.active) return;
  current.active = false;
  if (!current.written) {
    const int file = ::open(current.path.data(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    const ssize_t count = ::write(file, current.bytes.data(), current.bytes.size());
    if (count != static_cast<ssize_t>(current.bytes.size()))
      std::fprintf(stderr, "fuzz: the input could not be written\n");
    ::close(file);
  }
  std::fprintf(stderr, "fuzz: %s failed on %s (%zu bytes)\nfuzz: run it again: %s replay %s %s\n",
               current.target.c_str(), current.path.data(), current.bytes.size(), current.program,
               current.target.c_str(), current.path.data());
}

void set_path(const fs::path& path) {
  std::snprintf(current.path.data(), current.path.size(), "%s", path.c_str());
}

Bounds bounds_of(const Target& target, std::string_view bytes) {
  return {.memory = target.memory_base + target.memory_per_byte * bytes.size()};
}

struct Result {
  Outcome outcome;
  Usage usage;
  std::optional<std::string> failure;
};

Result read_once(const Target& target, std::string_view bytes) {
  Result result;
  unprintable_log = false;
  begin_bounds(bounds_of(target, bytes));
  try {
    result.outcome = target.read(bytes);
  } catch (const std::exception& exception) {
    result.failure = exception.what();
  } catch (...) {
    result.failure = "something was thrown that is no exception";
  }
  result.usage = end_bounds();
  if (!result.failure && unprintable_log) result.failure = "a log line is not printable";
  return result;
}

/// Reads an input, now and then again. Something may be kept once, such as a cache; a leak keeps
/// something each time.
Result read_input(const Target& target, std::string_view bytes, bool again) {
  Result result = read_once(target, bytes);
  std::int64_t least_kept = result.usage.kept;
  for (int i = 0; i < 3 && !result.failure && (again || least_kept > 0); ++i) {
    const Result repeated = read_once(target, bytes);
    if (repeated.outcome.digest != result.outcome.digest ||
        repeated.outcome.accepted != result.outcome.accepted)
      result.failure = "the same input gave another result";
    least_kept = std::min(least_kept, repeated.usage.kept);
    again = false;
  }
  if (!result.failure && least_kept > 0)
    result.failure = "memory leaks: " + std::to_string(least_kept) + " bytes each time";
  return result;
}

/// A copy in a block of exactly its size, where a read past the end is found.
class ExactCopy {
 public:
  explicit ExactCopy(const std::string& bytes)
      : data_(new char[bytes.size()]), size_(bytes.size()) {
    bytes.copy(data_.get(), size_);
  }
  std::string_view view() const { return {data_.get(), size_}; }

 private:
  std::unique_ptr<char[]> data_;
  std::size_t size_;
};

Result read_reported(const Target& target, const std::string& bytes, bool again) {
  const ExactCopy copy(bytes);
  current.target = target.name;
  current.bytes = copy.view();
  current.active = true;
  Result result = read_input(target, copy.view(), again);
  if (result.failure) {
    std::fprintf(stderr, "fuzz: %s\n", printable(*result.failure).c_str());
    report();
  }
  current.active = false;
  return result;
}

struct Summary {
  std::uint64_t accepted = 0;
  std::uint64_t failures = 0;
  std::uint64_t peak = 0;
  double slowest = 0;
  std::uint64_t slowest_index = 0;

  void add(const Result& result, std::uint64_t index) {
    accepted += result.outcome.accepted ? 1 : 0;
    failures += result.failure ? 1 : 0;
    peak = std::max(peak, result.usage.peak);
    if (result.usage.seconds <= slowest) return;
    slowest = result.usage.seconds;
    slowest_index = index;
  }
};

}  // namespace

void prepare_runs(const char* program) {
  current.program = program;
  set_log_callback([](LogLevel, std::string_view line) {
    try {
      require_printable(line, "");
    } catch (const Violation&) {
      unprintable_log = true;
    }
  });
  start_watch(report);
}

std::uint64_t run_target(const Target& target, const RunOptions& options) {
  const std::vector<std::string> seeds = read_seeds(target);
  Summary summary;
  for (const auto& paths : {seed_files(target), regression_files(target)})
    for (const fs::path& path : paths)
      if (!replay_file(target, path)) ++summary.failures;
  const auto start = std::chrono::steady_clock::now();
  const fs::path folder = fs::absolute(options.failures);
  fs::create_directories(folder);
  std::uint64_t index = options.first;
  for (; index < options.first + options.count && summary.failures < kMaxFailures; ++index) {
    const std::string bytes = make_input(target, seeds, options.seed, index);
    const auto text = [](std::uint64_t number) { return std::to_string(number); };
    set_path(folder / (std::string(target.name) + "-" + text(options.seed) + "-" + text(index)));
    current.written = false;
    summary.add(read_reported(target, bytes, index % 8 == 0), index);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const auto done = static_cast<double>(index - options.first);
  std::printf(
      "%-12s seed %llu: %.0f inputs, %.0f/s, %.0f%% read, errors of %zu places, at most %.1f MiB "
      "and %.2f s "
      "(input %llu), %llu failures\n",
      std::string(target.name).c_str(), static_cast<unsigned long long>(options.seed), done,
      done / seconds.count(), 100 * static_cast<double>(summary.accepted) / done,
      places_of_errors(), static_cast<double>(summary.peak) / (1 << 20), summary.slowest,
      static_cast<unsigned long long>(summary.slowest_index),
      static_cast<unsigned long long>(summary.failures));
  std::fflush(stdout);
  return summary.failures;
}

bool replay_file(const Target& target, const fs::path& path) {
  set_path(path);
  current.written = true;
  return !read_reported(target, read_bytes(path), true).failure;
}

}  // namespace ttt::fuzz
