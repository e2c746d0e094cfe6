// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Shared memory of the running block, every access checked: inside its allocation, aligned, written
// in this block before it is read, and ordered by a barrier against other threads' accesses.

#include "tests/emulator/grid.h"

#include <cstring>
#include <type_traits>
#include <vector>

namespace ttt::emulator {

class SharedMemory {
 public:
  static SharedMemory& instance();

  /// A static array; lives as long as the program, and its contents as long as a block.
  std::size_t allocate_static(std::size_t bytes);
  /// The dynamic shared memory of the next launch.
  void allocate_dynamic(std::size_t bytes);
  static constexpr std::size_t kDynamic = ~std::size_t{0};  ///< handle of the dynamic one

  /// Where the allocation's byte `offset` is, after checking an access of `bytes` to it.
  std::byte* read(std::size_t allocation, std::ptrdiff_t offset, std::size_t bytes);
  std::byte* write(std::size_t allocation, std::ptrdiff_t offset, std::size_t bytes);
  /// For atomic operations, which are ordered by nature; the bytes must have been written.
  std::byte* read_and_write(std::size_t allocation, std::ptrdiff_t offset, std::size_t bytes);

 private:
  /// What happened to two bytes.
  struct Shadow {
    Clock written, read;
    bool several_readers = false;        // in the same warp, since its last barrier
    bool several_reading_warps = false;  // since the last barrier of the block
  };
  struct Allocation {
    std::vector<std::byte> bytes;
    std::vector<Shadow> shadow;
  };
  Allocation& allocation(std::size_t handle);
  Allocation& checked(std::size_t handle, std::ptrdiff_t offset, std::size_t bytes);
  static void note_read(Shadow& shadow, const Clock& clock);
  static void note_write(Shadow& shadow, const Clock& clock);

  std::vector<Allocation> static_;
  Allocation dynamic_;
};

/// Pointer to shared memory; behaves as T*, one element at a time.
template <typename T>
class SharedPointer {
 public:
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 2 == 0);

  class Reference {
   public:
    explicit Reference(const SharedPointer& at) : at_(at) {}
    operator T() const {
      T value;
      at_.read(&value, sizeof(T), alignof(T));
      return value;
    }
    Reference& operator=(const T& value) {
      at_.write(&value, sizeof(T), alignof(T));
      return *this;
    }
    Reference& operator=(const Reference& other) { return *this = static_cast<T>(other); }
    Reference(const Reference&) = default;
    Reference& operator+=(const T& value) { return *this = static_cast<T>(*this) + value; }

   private:
    SharedPointer at_;
  };

  SharedPointer() = default;
  SharedPointer(std::size_t allocation, std::ptrdiff_t offset)
      : allocation_(allocation), offset_(offset) {}

  SharedPointer operator+(std::ptrdiff_t elements) const {
    return {allocation_, offset_ + elements * static_cast<std::ptrdiff_t>(sizeof(T))};
  }
  Reference operator[](std::ptrdiff_t i) const { return Reference(*this + i); }
  Reference operator*() const { return Reference(*this); }

  void read(void* to, std::size_t bytes, std::size_t alignment) const {
    check_alignment(alignment);
    std::memcpy(to, SharedMemory::instance().read(allocation_, offset_, bytes), bytes);
  }
  void write(const void* from, std::size_t bytes, std::size_t alignment) const {
    check_alignment(alignment);
    std::memcpy(SharedMemory::instance().write(allocation_, offset_, bytes), from, bytes);
  }
  template <typename U>
  SharedPointer<U> cast() const {
    return {allocation_, offset_};
  }
  /// The element itself, for an atomic operation.
  T* atomic() const {
    check_alignment(alignof(T));
    return reinterpret_cast<T*>(
        SharedMemory::instance().read_and_write(allocation_, offset_, sizeof(T)));
  }

 private:
  void check_alignment(std::size_t alignment) const {
    if (offset_ % static_cast<std::ptrdiff_t>(alignment) != 0)
      throw Fault(Fault::Kind::alignment, running_thread() + ": byte " + std::to_string(offset_) +
                                              " of shared memory is no place for an access of " +
                                              std::to_string(alignment) + " bytes at once");
  }

  std::size_t allocation_ = 0;
  std::ptrdiff_t offset_ = 0;
};

/// A static __shared__ array.
template <typename T, int kCount>
class SharedArray {
 public:
  SharedArray() : allocation_(SharedMemory::instance().allocate_static(sizeof(T) * kCount)) {}
  auto operator[](std::ptrdiff_t i) const { return SharedPointer<T>(allocation_, 0)[i]; }
  SharedPointer<T> operator+(std::ptrdiff_t i) const {
    return SharedPointer<T>(allocation_, 0) + i;
  }

 private:
  std::size_t allocation_;
};

}  // namespace ttt::emulator
