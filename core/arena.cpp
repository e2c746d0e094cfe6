// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/arena.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <sys/mman.h>
#include <unistd.h>

namespace ttt {
namespace {

constexpr std::size_t kLargePage = std::size_t{2} << 20;

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

Arena::Arena(std::size_t reserve) {
  if (reserve < kLargePage) return;
  void* memory = ::mmap(nullptr, reserve, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  ::madvise(memory, reserve, MADV_HUGEPAGE);  // where there are none, small ones do
  ::madvise(memory, reserve, MADV_DONTDUMP);  // a dump would be as large as the reserve
  memory_ = static_cast<std::byte*>(memory);
  statistics_.reserved = reserve;
  // Large pages begin at multiples of their size.
  const std::size_t first =
      (kLargePage - reinterpret_cast<std::uintptr_t>(memory) % kLargePage) % kLargePage;
  add_gap(first, reserve - first);
}

Arena::~Arena() {
  if (memory_ != nullptr) ::munmap(memory_, statistics_.reserved);
}

void Arena::add_gap(std::size_t place, std::size_t size) {
  gaps_.emplace(place, size);
  by_size_.emplace(size, place);
}

void Arena::remove_gap(Gaps::iterator gap) {
  by_size_.erase({gap->second, gap->first});
  gaps_.erase(gap);
}

void* Arena::allocate(std::size_t bytes) {
  if (bytes == 0 || bytes > std::numeric_limits<std::size_t>::max() - kAlignment) return nullptr;
  bytes = round_up(bytes, kAlignment);
  const std::scoped_lock lock(mutex_);
  const auto found = by_size_.lower_bound({bytes, 0});
  if (found == by_size_.end()) return nullptr;
  const auto [size, place] = *found;
  remove_gap(gaps_.find(place));
  if (size > bytes) add_gap(place + bytes, size - bytes);
  blocks_.emplace(place, bytes);
  statistics_.used += bytes;
  statistics_.reached = std::max(statistics_.reached, place + bytes);
  return memory_ + place;
}

bool Arena::release(void* block) {
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  const auto start = reinterpret_cast<std::uintptr_t>(memory_);
  if (memory_ == nullptr || address < start || address - start >= statistics_.reserved)
    return false;
  const std::scoped_lock lock(mutex_);
  const auto found = blocks_.find(address - start);
  if (found == blocks_.end()) return false;
  std::size_t place = found->first, size = found->second;
  blocks_.erase(found);
  statistics_.used -= size;
  const auto after = gaps_.lower_bound(place);
  if (after != gaps_.begin()) {
    if (const auto before = std::prev(after); before->first + before->second == place) {
      place = before->first;
      size += before->second;
      remove_gap(before);
    }
  }
  if (after != gaps_.end() && after->first == place + size) {
    size += after->second;
    remove_gap(after);
  }
  add_gap(place, size);
  return true;
}

void Arena::trim() {
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::scoped_lock lock(mutex_);
  for (const auto& [place, size] : gaps_) {
    const std::size_t first = round_up(place, page);
    const std::size_t end = std::min(place + size, round_up(statistics_.reached, page));
    if (first < end / page * page)
      ::madvise(memory_ + first, end / page * page - first, MADV_DONTNEED);
  }
}

Arena::Statistics Arena::statistics() const {
  const std::scoped_lock lock(mutex_);
  return statistics_;
}

}  // namespace ttt
