// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ttt::test {

/// Little-endian bytes of a number.
inline std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xFF);
  return text;
}

/// One stored entry of a zip file; the claims may lie.
struct ZipPart {
  std::string name;
  std::string data;
  std::uint64_t claimed_size = 0;             ///< 0: the truth
  std::uint64_t claimed_compressed_size = 0;  ///< 0: the truth
  std::uint16_t method = 0;
};

/// A zip file. Checksums are zero, as PyTorch writes them when told not to compute any.
inline std::string zip_bytes(const std::vector<ZipPart>& parts) {
  std::string file;
  std::string directory;
  for (const ZipPart& part : parts) {
    const std::uint64_t size = part.claimed_size ? part.claimed_size : part.data.size();
    const std::uint64_t packed =
        part.claimed_compressed_size ? part.claimed_compressed_size : part.data.size();
    const std::string common = number(part.method, 2) + number(0, 4) + number(0, 4) +
                               number(packed, 4) + number(size, 4) + number(part.name.size(), 2) +
                               number(0, 2);
    const std::size_t offset = file.size();
    file += "PK\x03\x04" + number(20, 2) + number(0, 2) + common + part.name + part.data;
    directory += "PK\x01\x02" + number(20, 2) + number(20, 2) + number(0, 2) + common +
                 number(0, 2) + number(0, 2) + number(0, 2) + number(0, 4) + number(offset, 4) +
                 part.name;
  }
  return file + directory + "PK\x05\x06" + number(0, 4) + number(parts.size(), 2) +
         number(parts.size(), 2) + number(directory.size(), 4) + number(file.size(), 4) +
         number(0, 2);
}

namespace pickle {

inline std::string text(const std::string& value) {
  return "X" + number(value.size(), 4) + value;
}
inline std::string integer(std::int64_t value) {
  return "\x8a\x08" + number(static_cast<std::uint64_t>(value), 8);
}
inline std::string tuple(const std::vector<std::int64_t>& values) {
  std::string items = "(";
  for (const std::int64_t value : values) items += integer(value);
  return items + "t";
}
inline std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}

struct Tensor {
  std::string key = "0";
  std::string storage = "FloatStorage";
  std::int64_t elements = 2;
  std::int64_t offset = 0;
  std::vector<std::int64_t> shape{2};
  std::vector<std::int64_t> strides{1};
};

inline std::string tensor(const Tensor& t) {
  const std::string storage = "(" + text("storage") + global("torch", t.storage) + text(t.key) +
                              text("cpu") + integer(t.elements) + "tQ";
  return global("torch._utils", "_rebuild_tensor_v2") + "(" + storage + integer(t.offset) +
         tuple(t.shape) + tuple(t.strides) + "\x89" + "}tR";
}

/// A dictionary of already pickled values.
inline std::string dict(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string result = "}(";
  for (const auto& [key, value] : items) result += text(key) + value;
  return result + "u";
}

}  // namespace pickle

/// A torch file of this pickle body and a storage "0" of eight bytes.
inline std::string torch_bytes(const std::string& body,
                               const std::string& storage = std::string(8, 0)) {
  return zip_bytes({{"a/data.pkl", "\x80\x02" + body + "."}, {"a/data/0", storage}});
}

}  // namespace ttt::test
