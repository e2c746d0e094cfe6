// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/shared_memory.h"

namespace ttt::emulator {
namespace {

constexpr std::size_t kGranule = 2;  // bytes that share one shadow
constexpr std::size_t kMaxAlignment = 16;

/// Both happened in the running block.
bool same_block(const Clock& past, const Clock& present) {
  return past.block_run == present.block_run;
}

/// What one thread did then is visible to the other now.
bool ordered(const Clock& past, const Clock& present) {
  if (!same_block(past, present) || past.thread == present.thread) return true;
  if (past.block_barriers < present.block_barriers) return true;
  return past.thread / kWarpSize == present.thread / kWarpSize &&
         past.warp_barriers < present.warp_barriers;
}

[[noreturn]] void report_race(const char* what, int other) {
  throw Fault(Fault::Kind::race, running_thread() + " " + what + " thread " +
                                     std::to_string(other) + ", with no barrier between them");
}

std::size_t padded(std::size_t bytes) {
  return (bytes + kMaxAlignment - 1) / kMaxAlignment * kMaxAlignment;
}

}  // namespace

SharedMemory& SharedMemory::instance() {
  static SharedMemory memory;
  return memory;
}

std::size_t SharedMemory::allocate_static(std::size_t bytes) {
  static_.push_back({std::vector<std::byte>(bytes), std::vector<Shadow>(padded(bytes) / kGranule)});
  return static_.size() - 1;
}

void SharedMemory::allocate_dynamic(std::size_t bytes) {
  if (bytes > kMaxSharedBytes)
    throw Fault(Fault::Kind::launch, "a block with " + std::to_string(bytes) +
                                         " bytes of shared memory fits no GPU that has " +
                                         std::to_string(kMaxSharedBytes));
  dynamic_.bytes.assign(bytes, std::byte{0xff});
  dynamic_.shadow.assign(padded(bytes) / kGranule, {});
}

SharedMemory::Allocation& SharedMemory::allocation(std::size_t handle) {
  return handle == kDynamic ? dynamic_ : static_.at(handle);
}

SharedMemory::Allocation& SharedMemory::checked(std::size_t handle, std::ptrdiff_t offset,
                                                std::size_t bytes) {
  Allocation& found = allocation(handle);
  if (offset < 0 || static_cast<std::size_t>(offset) + bytes > found.bytes.size())
    throw Fault(Fault::Kind::bounds, running_thread() + ": access to byte " +
                                         std::to_string(offset) + " of an allocation of " +
                                         std::to_string(found.bytes.size()) +
                                         " bytes of shared memory");
  return found;
}

void SharedMemory::note_read(Shadow& shadow, const Clock& clock) {
  if (shadow.written.block_run != clock.block_run)
    throw Fault(Fault::Kind::uninitialised,
                running_thread() + " reads shared memory that no thread of the block has written");
  if (!ordered(shadow.written, clock))
    report_race("reads what was written by", shadow.written.thread);
  const Clock& last = shadow.read;
  const bool same_phase = same_block(last, clock) && last.block_barriers == clock.block_barriers;
  const bool same_warp = last.thread / kWarpSize == clock.thread / kWarpSize;
  const bool same_warp_phase = same_phase && same_warp && last.warp_barriers == clock.warp_barriers;
  shadow.several_reading_warps = same_phase && (shadow.several_reading_warps || !same_warp);
  shadow.several_readers =
      same_warp_phase && (shadow.several_readers || last.thread != clock.thread);
  shadow.read = clock;
}

void SharedMemory::note_write(Shadow& shadow, const Clock& clock) {
  if (!ordered(shadow.written, clock))
    report_race("overwrites what was written by", shadow.written.thread);
  const Clock& last = shadow.read;
  const bool same_phase = same_block(last, clock) && last.block_barriers == clock.block_barriers;
  const bool same_warp_phase = same_phase && last.thread / kWarpSize == clock.thread / kWarpSize &&
                               last.warp_barriers == clock.warp_barriers;
  if ((same_phase && shadow.several_reading_warps) || (same_warp_phase && shadow.several_readers) ||
      !ordered(last, clock))
    report_race("overwrites what was read by", last.thread);
  shadow.written = clock;
}

std::byte* SharedMemory::read(std::size_t handle, std::ptrdiff_t offset, std::size_t bytes) {
  Allocation& found = checked(handle, offset, bytes);
  const Clock clock = now();
  for (std::size_t i = 0; i < bytes; i += kGranule)
    note_read(found.shadow[(offset + i) / kGranule], clock);
  return found.bytes.data() + offset;
}

std::byte* SharedMemory::write(std::size_t handle, std::ptrdiff_t offset, std::size_t bytes) {
  Allocation& found = checked(handle, offset, bytes);
  const Clock clock = now();
  for (std::size_t i = 0; i < bytes; i += kGranule)
    note_write(found.shadow[(offset + i) / kGranule], clock);
  return found.bytes.data() + offset;
}

std::byte* SharedMemory::read_and_write(std::size_t handle, std::ptrdiff_t offset,
                                        std::size_t bytes) {
  Allocation& found = checked(handle, offset, bytes);
  for (std::size_t i = 0; i < bytes; i += kGranule)
    if (found.shadow[(offset + i) / kGranule].written.block_run != now().block_run)
      throw Fault(
          Fault::Kind::uninitialised,
          running_thread() + " changes shared memory that no thread of the block has written");
  return found.bytes.data() + offset;
}

}  // namespace ttt::emulator
