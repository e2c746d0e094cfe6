// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/device_memory.h"

#include <bit>

namespace ttt::test {

using ops::cuda::DataType;

std::vector<std::byte> encode(const std::vector<float>& values, DataType type) {
  const std::size_t size = DeviceArray::element_bytes(type);
  std::vector<std::byte> bytes(values.size() * size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto bits = std::bit_cast<std::uint32_t>(values[i]);
    if (type == DataType::bfloat16) bits = (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
    std::memcpy(bytes.data() + i * size, &bits, size);  // little-endian: the low bytes
  }
  return bytes;
}

std::vector<float> decode(const std::vector<std::byte>& bytes, DataType type) {
  const std::size_t size = DeviceArray::element_bytes(type);
  std::vector<float> values(bytes.size() / size);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * size, size);
    values[i] = std::bit_cast<float>(type == DataType::bfloat16 ? bits << 16 : bits);
  }
  return values;
}

}  // namespace ttt::test
