// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>

namespace ttt {

/// Blocks of memory in one stretch of address space. A freed block keeps its pages, so that the
/// next one neither waits for the system to clear new ones nor misses them in the translation
/// cache: pages are large where the system has such. Where blocks lie is told by their sizes and
/// the order of the calls alone. All functions can be called from any thread.
class Arena {
 public:
  static constexpr std::size_t kAlignment = 64;  ///< of each block, in bytes

  struct Statistics {
    std::size_t reserved = 0;  ///< bytes of address space; 0: the system gave none
    std::size_t used = 0;      ///< bytes in blocks
    std::size_t reached = 0;   ///< end of the highest block so far: no more pages were ever touched
  };

  /// Reserves address space; memory comes with the first use of a page.
  explicit Arena(std::size_t reserve);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// The smallest gap that holds `bytes` (> 0); null where none does.
  void* allocate(std::size_t bytes);
  /// Frees a block; false where `block` isn't one of this arena.
  bool release(void* block);
  /// Returns the pages of all gaps to the system.
  void trim();
  Statistics statistics() const;

 private:
  using Gaps = std::map<std::size_t, std::size_t>;

  void add_gap(std::size_t place, std::size_t size);
  void remove_gap(Gaps::iterator gap);

  mutable std::mutex mutex_;
  std::byte* memory_ = nullptr;
  Statistics statistics_;
  Gaps gaps_;                                              ///< size by place
  std::set<std::pair<std::size_t, std::size_t>> by_size_;  ///< the same as (size, place)
  std::unordered_map<std::size_t, std::size_t> blocks_;    ///< size by place
};

}  // namespace ttt
