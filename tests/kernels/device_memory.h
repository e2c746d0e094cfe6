// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Memory that kernels can use, without LibTorch: on the GPU, or with emulated kernels on the heap
// (device_memory_cuda.cpp, tests/emulator/device_memory.cpp).

#include "kernels/support/cuda_types.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace ttt::test {

/// Empty when kernels can run here, else why they can't.
std::string device_problem();

void* device_allocate(std::size_t bytes);
void device_free(void* memory);
void copy_to_device(void* device, const void* host, std::size_t bytes);
/// Waits for the kernels before.
void copy_to_host(void* host, const void* device, std::size_t bytes);

/// Values as a kernel reads them: rounded to bfloat16 or not.
std::vector<std::byte> encode(const std::vector<float>& values, ops::cuda::DataType type);
std::vector<float> decode(const std::vector<std::byte>& bytes, ops::cuda::DataType type);

/// An array on the device. Memory of a size in bytes, so that AddressSanitizer sees its ends.
class DeviceArray {
 public:
  using DataType = ops::cuda::DataType;
  explicit DeviceArray(const std::vector<float>& values, DataType type = DataType::float32)
      : DeviceArray(encode(values, type), type) {}
  /// An array of NaN, for results.
  explicit DeviceArray(std::size_t count, DataType type = DataType::float32)
      : DeviceArray(std::vector<std::byte>(count * element_bytes(type), std::byte{0xff}), type) {}
  ~DeviceArray() { device_free(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  void* data() const { return data_; }
  float* floats() const { return static_cast<float*>(data_); }
  std::byte* element(std::size_t index) const {
    return static_cast<std::byte*>(data_) + index * element_bytes(type_);
  }
  std::vector<float> values() const {
    std::vector<std::byte> bytes(bytes_);
    copy_to_host(bytes.data(), data_, bytes_);
    return decode(bytes, type_);
  }
  static std::size_t element_bytes(DataType type) { return type == DataType::bfloat16 ? 2 : 4; }

 private:
  DeviceArray(const std::vector<std::byte>& bytes, DataType type)
      : bytes_(bytes.size()), type_(type), data_(device_allocate(bytes.size())) {
    copy_to_device(data_, bytes.data(), bytes_);
  }
  std::size_t bytes_;
  DataType type_;
  void* data_;
};

}  // namespace ttt::test
