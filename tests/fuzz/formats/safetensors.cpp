// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/mutate.h"

#include <nlohmann/json.hpp>

#include <array>

namespace ttt::fuzz {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kData("\0data", 5);  // no tensor of a seed has that name
constexpr std::size_t kLength = 8;

/// One part for each entry of the header, then the data.
Parts split_safetensors(std::string_view bytes, Random&) {
  const std::uint64_t length = load_number(bytes, 0, kLength, false);
  const std::string_view behind = bytes.substr(std::min(kLength, bytes.size()));
  const Json header = Json::parse(behind.substr(0, length), nullptr, false);
  if (!header.is_object() || length > behind.size()) return {{"", std::string(bytes)}};
  Parts parts;
  for (const auto& [name, value] : header.items()) parts.push_back({name, value.dump()});
  parts.push_back({std::string(kData), std::string(behind.substr(length))});
  return parts;
}

std::string quoted(const std::string& name) {
  return Json(name).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Bytes that an entry needs, or -1 when that can't be told.
std::int64_t bytes_of(const Json& entry) {
  static constexpr std::array<std::pair<std::string_view, int>, 15> kSizes{{{"F64", 8},
                                                                            {"F32", 4},
                                                                            {"F16", 2},
                                                                            {"BF16", 2},
                                                                            {"I64", 8},
                                                                            {"I32", 4},
                                                                            {"I16", 2},
                                                                            {"I8", 1},
                                                                            {"U8", 1},
                                                                            {"BOOL", 1},
                                                                            {"F8_E4M3", 1},
                                                                            {"F8_E5M2", 1},
                                                                            {"U64", 8},
                                                                            {"U32", 4},
                                                                            {"U16", 2}}};
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") ||
      !entry["dtype"].is_string() || !entry["shape"].is_array())
    return -1;
  std::int64_t bytes = -1;
  for (const auto& [name, size] : kSizes)
    if (entry["dtype"].get_ref<const std::string&>() == name) bytes = size;
  for (const Json& side : entry["shape"])
    if (!side.is_number_unsigned() ||
        __builtin_mul_overflow(bytes, side.get<std::int64_t>(), &bytes))
      return -1;
  return bytes;
}

/// Moves the offsets so that the tensors lie one behind the other, and gives them data.
void mend(Parts& parts) {
  std::int64_t position = 0;
  for (Part& part : parts) {
    Json entry = Json::parse(part.body, nullptr, false);
    const std::int64_t size = bytes_of(entry);
    if (size < 0 || size > std::int64_t{1} << 14) continue;
    entry["data_offsets"] = {position, position + size};
    part.body = entry.dump();
    position += size;
  }
  for (Part& part : parts)
    if (part.head == kData) part.body.resize(static_cast<std::size_t>(position), '\x3F');
}

std::string join_safetensors(const Parts& original, Random& random) {
  Parts parts = original;
  if (random.chance(60)) mend(parts);
  std::string header;
  std::string data;
  for (const Part& part : parts) {
    if (part.head == kData)
      data += part.body;
    else if (part.head.empty())
      return part.body;
    else
      header += (header.empty() ? "{" : ",") + quoted(part.head) + ":" + part.body;
  }
  header += header.empty() ? "{}" : "}";
  if (random.chance(30)) mutate_bytes(header, random, safetensors_format().tokens);
  return number_bytes(rarely_wrong(header.size(), random), kLength, false) + header + data;
}

constexpr std::array<std::string_view, 8> kTypes{"F32", "F16",     "BF16", "I64",
                                                 "U8",  "F8_E4M3", "BOOL", "F4"};

/// Another type or number in an entry.
void vary_tensor(Part& part, Random& random) {
  Json entry = Json::parse(part.body, nullptr, false);
  const char* list = random.chance(50) ? "shape" : "data_offsets";
  if (part.head == kData || !entry.is_object()) return mutate_bytes(part.body, random, {});
  if (random.chance(30))
    entry["dtype"] = random.pick(kTypes);
  else if (entry.contains(list) && entry[list].is_array() && !entry[list].empty())
    entry[list][random.below(entry[list].size())] = edge_number(random);
  part.body = entry.dump();
}

Part make_tensor(Random& random) {
  static constexpr std::array<std::string_view, 10> kNames{
      "w",      "model.w",     "module.w",     "model.module.w",
      "a.b",    "module.",     "__metadata__", "_orig_mod._orig_mod.w",
      "model.", "\xE2\x82\xAC"};
  std::string shape;
  for (std::size_t i = random.mostly_small(random.chance(95) ? 5 : 80); i > 0; --i)
    shape += (shape.empty() ? "" : ",") +
             std::to_string(random.chance(80) ? random.below(5) : edge_number(random));
  return {std::string(random.pick(kNames)), R"({"dtype":")" + std::string(random.pick(kTypes)) +
                                                R"(","shape":[)" + shape +
                                                R"(],"data_offsets":[0,4]})"};
}

}  // namespace

const Format& safetensors_format() {
  static const Format format{split_safetensors,
                             join_safetensors,
                             make_tensor,
                             nullptr,
                             {"{",
                              "}",
                              "[",
                              "]",
                              "\"",
                              ",",
                              ":",
                              "dtype",
                              "shape",
                              "data_offsets",
                              "__metadata__",
                              "F32",
                              "null",
                              "0",
                              "-1",
                              "1.5",
                              "18446744073709551615",
                              "9223372036854775807",
                              "\\u0000",
                              " "},
                             vary_tensor};
  return format;
}

}  // namespace ttt::fuzz
