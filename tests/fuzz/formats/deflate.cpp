// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/formats/deflate.h"

#include <zlib.h>

namespace ttt::fuzz {
namespace {

void give_input(z_stream& stream, std::string_view bytes) {
  // zlib doesn't write to its input.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
}

}  // namespace

std::optional<std::string> inflate_bytes(std::string_view packed, Wrapping wrapping) {
  z_stream stream{};
  give_input(stream, packed);
  if (inflateInit2(&stream, static_cast<int>(wrapping)) != Z_OK) return std::nullopt;
  std::string bytes(kMaxMutant, '\0');
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  const bool whole = inflate(&stream, Z_FINISH) == Z_STREAM_END;
  bytes.resize(stream.total_out);
  inflateEnd(&stream);
  return whole ? std::optional(bytes) : std::nullopt;
}

std::string deflate_bytes(std::string_view bytes, Wrapping wrapping, int level) {
  z_stream stream{};
  give_input(stream, bytes);
  deflateInit2(&stream, level, Z_DEFLATED, static_cast<int>(wrapping), 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace ttt::fuzz
