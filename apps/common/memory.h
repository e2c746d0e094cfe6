// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace ttt::cli {

constexpr double kMebibyte = 1024.0 * 1024.0;

/// For a result; null where it isn't known.
nlohmann::ordered_json mebibytes(std::optional<std::int64_t> bytes);

/// Bytes that can still be taken on this machine, or in this container, without swapping; nothing
/// when unknown. Gives free memory back to the system first, which would count as taken.
std::optional<std::int64_t> memory_available();

/// Throws Error(memory) where `what` needs more bytes than are free: "`what` need about ...".
void require_memory(std::int64_t bytes, const std::string& what, const std::string& where,
                    const std::string& hint);

/// What the process held at most between two points in time.
class PeakMemory {
 public:
  /// Gives free memory back to the system and starts to watch.
  PeakMemory();
  /// Bytes that were held at the start; nothing where the system doesn't tell.
  std::optional<std::int64_t> start() const { return start_; }
  /// Bytes at the peak so far.
  std::optional<std::int64_t> peak() const;
  /// The same without what was held at the start.
  std::optional<std::int64_t> above_start() const;

 private:
  std::optional<std::int64_t> start_;
};

}  // namespace ttt::cli
