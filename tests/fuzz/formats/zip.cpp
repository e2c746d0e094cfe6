// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/formats/deflate.h"
#include "tests/fuzz/mutate.h"

#include <array>
#include <zlib.h>

namespace ttt::fuzz {
namespace {

constexpr std::size_t kLocalHeader = 30;
constexpr std::size_t kDirectoryEntry = 46;
constexpr std::size_t kEnd = 22;
constexpr int kDeflated = 8;

/// A part's head: method, flags, faults, name. Its body: the content, unpacked where that worked.
struct Settings {
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  std::uint16_t faults = 0;
  std::string name;
};
constexpr std::size_t kSettings = 6;

/// Bits of `faults`; a fresh part has none.
enum Fault : std::uint16_t {
  kZeroChecksum = 1,
  kWrongChecksum = 2,
  kWrongSize = 4,
  kWrongPackedSize = 8,
  kWrongOffset = 16,
  kOtherLocalName = 32,
  kZip64 = 64,
  kRawContent = 128,  ///< written as it is, whatever the method
  kNoLocalSizes = 256,
};

std::string head_of(const Settings& settings) {
  return number_bytes(settings.method, 2, false) + number_bytes(settings.flags, 2, false) +
         number_bytes(settings.faults, 2, false) + settings.name;
}

Settings settings_of(const std::string& head) {
  return {static_cast<std::uint16_t>(load_number(head, 0, 2, false)),
          static_cast<std::uint16_t>(load_number(head, 2, 2, false)),
          static_cast<std::uint16_t>(load_number(head, 4, 2, false)),
          head.size() > kSettings ? head.substr(kSettings, 0xFFFF) : ""};
}

Part read_entry(std::string_view bytes, std::size_t at) {
  Settings settings{
      static_cast<std::uint16_t>(load_number(bytes, at + 10, 2, false)), 0, 0,
      std::string(bytes.substr(at + kDirectoryEntry, load_number(bytes, at + 28, 2, false)))};
  std::uint64_t size = load_number(bytes, at + 20, 4, false);
  const std::size_t local = load_number(bytes, at + 42, 4, false);
  const std::size_t begin = local + kLocalHeader + load_number(bytes, local + 26, 2, false) +
                            load_number(bytes, local + 28, 2, false);
  const std::string_view content =
      begin < bytes.size() ? bytes.substr(begin, size) : std::string_view{};
  if (settings.method == kDeflated)
    if (const auto unpacked = inflate_bytes(content, Wrapping::none))
      return {head_of(settings), *unpacked};
  if (settings.method != 0) settings.faults = kRawContent;
  return {head_of(settings), std::string(content)};
}

Parts split_zip(std::string_view bytes, Random&) {
  Parts parts;
  const std::size_t end = bytes.rfind("PK\x05\x06");
  if (end == std::string_view::npos) return {{head_of({}), std::string(bytes)}};
  std::size_t at = load_number(bytes, end + 16, 4, false);
  while (at + kDirectoryEntry <= bytes.size() && bytes.substr(at, 4) == "PK\x01\x02") {
    parts.push_back(read_entry(bytes, at));
    const std::size_t begin = at;
    at += kDirectoryEntry;
    for (const std::size_t field : {28U, 30U, 32U})  // name, extra field, comment
      at += load_number(bytes, begin + field, 2, false);
  }
  return parts;
}

/// An archive as it is written.
struct Writer {
  Random& random;
  std::string bytes;
  std::string directory;

  void add(const Part& part) {
    const Settings settings = settings_of(part.head);
    const auto fault = [&](Fault kind) { return (settings.faults & kind) != 0; };
    const std::string packed = settings.method == kDeflated && !fault(kRawContent)
                                   ? deflate_bytes(part.body, Wrapping::none, 6)
                                   : part.body;
    std::uint64_t crc = ::crc32(0, reinterpret_cast<const Bytef*>(part.body.data()),
                                static_cast<uInt>(part.body.size()));
    if (fault(kZeroChecksum)) crc = 0;
    if (fault(kWrongChecksum)) crc ^= 1U << random.below(32);
    const std::uint64_t size = fault(kWrongSize) ? edge_number(random) : part.body.size();
    const std::uint64_t packed_size = fault(kWrongPackedSize) ? edge_number(random) : packed.size();
    const std::uint64_t offset = fault(kWrongOffset) ? edge_number(random) : bytes.size();
    const std::string local_name = fault(kOtherLocalName) ? settings.name + "x" : settings.name;
    const auto common = [&](std::uint64_t shown_size, std::uint64_t shown_packed) {
      return number_bytes(settings.flags, 2, false) + number_bytes(settings.method, 2, false) +
             number_bytes(0, 4, false) + number_bytes(crc, 4, false) +
             number_bytes(shown_packed, 4, false) + number_bytes(shown_size, 4, false);
    };
    const bool hide = fault(kNoLocalSizes);
    bytes += "PK\x03\x04" + number_bytes(20, 2, false) +
             common(hide ? 0 : size, hide ? 0 : packed_size) +
             number_bytes(local_name.size(), 2, false) + number_bytes(0, 2, false) + local_name +
             packed;
    constexpr std::uint64_t kElsewhere = 0xFFFFFFFF;
    std::string extra;
    if (fault(kZip64))
      extra = number_bytes(1, 2, false) + number_bytes(24, 2, false) +
              number_bytes(size, 8, false) + number_bytes(packed_size, 8, false) +
              number_bytes(offset, 8, false);
    directory += "PK\x01\x02" + number_bytes(20, 2, false) + number_bytes(20, 2, false) +
                 (extra.empty() ? common(size, packed_size) : common(kElsewhere, kElsewhere)) +
                 number_bytes(settings.name.size(), 2, false) +
                 number_bytes(extra.size(), 2, false) + std::string(10, '\0') +
                 number_bytes(extra.empty() ? offset : kElsewhere, 4, false) + settings.name +
                 extra;
  }
};

std::string join_zip(const Parts& parts, Random& random) {
  Writer writer{random, {}, {}};
  for (const Part& part : parts) writer.add(part);
  const std::size_t start = writer.bytes.size();
  return writer.bytes + writer.directory + "PK\x05\x06" + number_bytes(0, 4, false) +
         number_bytes(rarely_wrong(parts.size(), random), 2, false) +
         number_bytes(rarely_wrong(parts.size(), random), 2, false) +
         number_bytes(rarely_wrong(writer.directory.size(), random), 4, false) +
         number_bytes(rarely_wrong(start, random), 4, false) + number_bytes(0, 2, false);
}

Part make_entry(Random& random) {
  static constexpr std::array<std::string_view, 10> kNames{
      "a/data.pkl", "data.pkl",      "a/data/0", "data/0",      "archive/byteorder",
      "a/version",  "constants.pkl", "x.npy",    "a/code/x.py", ""};
  static constexpr std::array<std::string_view, 4> kBodies{"big", "little", "\x80\x02}.", "3\n"};
  Settings settings;
  settings.method = random.chance(50) ? 0 : kDeflated;
  settings.faults = random.chance(50) ? 0 : static_cast<std::uint16_t>(1U << random.below(9));
  settings.name = random.pick(kNames);
  if (random.chance(30)) return {head_of(settings), std::string(random.pick(kBodies))};
  return {head_of(settings), std::string(random.mostly_small(20'000), random.byte())};
}

const Format* inner_format(const Part& part) {
  return part.head.ends_with("data.pkl") ? &pickle_format() : nullptr;
}

}  // namespace

const Format& zip_format() {
  static const Format format{
      split_zip, join_zip, make_entry, inner_format, {"data.pkl", "data/0", "/"}};
  return format;
}

}  // namespace ttt::fuzz
