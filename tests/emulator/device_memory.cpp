// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/device_memory.h"

#include <cstdlib>
#include <new>

namespace ttt::test {

std::string device_problem() {
  return "";
}

void* device_allocate(std::size_t bytes) {
  void* memory = std::malloc(bytes);
  if (memory == nullptr && bytes > 0) throw std::bad_alloc();
  return memory;
}

void device_free(void* memory) {
  std::free(memory);
}

void copy_to_device(void* device, const void* host, std::size_t bytes) {
  if (bytes > 0) std::memcpy(device, host, bytes);
}

void copy_to_host(void* host, const void* device, std::size_t bytes) {
  if (bytes > 0) std::memcpy(host, device, bytes);
}

}  // namespace ttt::test
