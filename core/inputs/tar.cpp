// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/tar.h"

#include "core/error.h"
#include "core/inputs/paths.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_map>

namespace ttt::inputs {
namespace {

constexpr std::uint64_t kBlock = 512;
constexpr std::uint64_t kMaxContent = std::uint64_t{1} << 31;

using Block = std::array<std::uint8_t, kBlock>;

std::string_view text_field(const Block& block, std::size_t at, std::size_t size) {
  const std::string_view field(reinterpret_cast<const char*>(block.data()) + at, size);
  return field.substr(0, field.find('\0'));
}

/// Octal digits, or binary when the first bit is set (GNU).
std::optional<std::uint64_t> number_field(const Block& block, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  if ((block[at] & 0x80) != 0) {
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint64_t byte = i == 0 ? block[at] & 0x7FU : block[at + i];
      if (value >> 55 != 0) return std::nullopt;
      value = value << 8 | byte;
    }
    return value;
  }
  std::string_view digits = text_field(block, at, size);
  digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
  digits = digits.substr(0, digits.find_last_not_of(' ') + 1);
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, 8);
  if (!digits.empty() && (error != std::errc{} || stop != end)) return std::nullopt;
  return value;
}

bool checksum_holds(const Block& block) {
  constexpr std::size_t kAt = 148;
  constexpr std::size_t kSize = 8;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i)
    sum += i >= kAt && i < kAt + kSize ? std::uint64_t{' '} : block[i];
  return block[0] != 0 && number_field(block, kAt, kSize) == sum;
}

}  // namespace

/// Walks over the headers of an archive.
struct TarArchive::Reader {
  TarArchive& archive;
  std::uint64_t at = 0;
  // From extended headers, for the next file.
  std::string long_name;
  std::string long_link;
  std::optional<std::uint64_t> long_size;
  bool sparse = false;
  std::unordered_map<std::string, std::size_t> index;

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::input, fmt::format("damaged tar archive: {} at offset {}", what, at),
                printable(archive.path_), "get or pack the archive again");
  }

  bool read_block(Block& block) const {
    if (at + kBlock > archive.size_) return false;
    const ssize_t got = ::pread(archive.file_, block.data(), kBlock, static_cast<off_t>(at));
    return got == static_cast<ssize_t>(kBlock);
  }

  std::string read_text(std::uint64_t size) const {
    constexpr std::uint64_t kMaxHeader = 1 << 20;
    if (size > kMaxHeader || at + kBlock + size > archive.size_) fail("a bad extended header");
    const std::vector<std::uint8_t> bytes = archive.read({"extended header", at + kBlock, size});
    return {bytes.begin(), bytes.end()};
  }

  /// Records of the form "<length> <key>=<value>\n".
  void read_pax(std::string_view text) {
    while (!text.empty() && text[0] != '\0') {
      std::size_t length = 0;
      const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), length);
      const auto digits = static_cast<std::size_t>(stop - text.data());
      if (error != std::errc{} || length <= digits + 1 || length > text.size())
        fail("a bad extended header");
      const std::string_view record = text.substr(digits + 1, length - digits - 2);
      const std::size_t equals = std::min(record.find('='), record.size());
      const std::string_view key = record.substr(0, equals);
      const std::string_view value = record.substr(std::min(equals + 1, record.size()));
      if (key == "path") long_name = value;
      if (key == "linkpath") long_link = value;
      if (key.starts_with("GNU.sparse")) sparse = true;
      if (key == "size") {
        std::uint64_t size = 0;
        const auto result = std::from_chars(value.data(), value.data() + value.size(), size);
        if (result.ec != std::errc{}) fail("a bad extended header");
        long_size = size;
      }
      text.remove_prefix(length);
    }
  }

  static std::string normal(std::string_view name) {
    std::string out;
    for (const std::string& part : components(name)) out += (out.empty() ? "" : "/") + part;
    return out;
  }

  void add_file(const Block& block, char type, std::uint64_t size) {
    std::string name = long_name;
    std::string link = long_link;
    if (name.empty()) {
      name = text_field(block, 0, 100);
      const bool posix = text_field(block, 257, 6) == "ustar";
      const std::string_view prefix = posix ? text_field(block, 345, 155) : std::string_view{};
      if (!prefix.empty()) name = std::string(prefix) + "/" + name;
    }
    if (link.empty()) link = text_field(block, 157, 100);
    const bool folder = name.ends_with('/');
    name = normal(name);
    if (type == '1') {
      const auto target = index.find(normal(link));
      if (target == index.end()) return;
      const Entry original = archive.entries_[target->second];
      archive.entries_.push_back({name, original.offset, original.size});
    } else if (!folder && !sparse) {
      index[name] = archive.entries_.size();
      archive.entries_.push_back({name, at + kBlock, size});
    }
  }

  void read_all() {
    Block block;
    while (read_block(block)) {
      if (std::all_of(block.begin(), block.end(), [](std::uint8_t byte) { return byte == 0; }))
        break;
      if (!checksum_holds(block)) fail("a bad header");
      const std::optional<std::uint64_t> field = number_field(block, 124, 12);
      if (!field) fail("a bad size");
      const char type = static_cast<char>(block[156]);
      std::uint64_t size = *field;
      const bool extension = type == 'x' || type == 'g' || type == 'L' || type == 'K';
      if (type == 'x') read_pax(read_text(size));
      if (type == 'L' || type == 'K') {
        const std::string text = read_text(size);
        (type == 'L' ? long_name : long_link) = text.substr(0, text.find('\0'));
      }
      if (!extension) {
        size = long_size.value_or(size);
        const bool has_content = type == '0' || type == '\0' || type == '7';
        if (has_content || type == '1') add_file(block, type, size);
        // Links, folders and devices have no content, whatever their size says.
        if (type >= '1' && type <= '6') size = 0;
        long_name.clear();
        long_link.clear();
        long_size.reset();
        sparse = false;
      }
      if (size > archive.size_) break;  // its content is cut: reading it says so
      at += kBlock + (size + kBlock - 1) / kBlock * kBlock;
    }
  }
};

TarArchive::TarArchive(const std::string& path) : path_(path) {
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  TTT_CHECK(file_ >= 0, input, fmt::format("can't read the archive: {}", std::strerror(errno)),
            printable(path));
  try {
    struct stat info {};
    if (::fstat(file_, &info) == 0) size_ = static_cast<std::uint64_t>(info.st_size);
    Reader{*this}.read_all();
  } catch (...) {
    ::close(file_);
    throw;
  }
}

TarArchive::~TarArchive() {
  ::close(file_);
}

std::vector<std::uint8_t> TarArchive::read(const Entry& entry) const {
  const std::string where = printable(join(path_, entry.name));
  TTT_CHECK(entry.offset <= size_ && entry.size <= size_ - entry.offset, input,
            "the archive ends before this file does", where, "get or pack the archive again");
  TTT_CHECK(entry.size <= kMaxContent, input, "the file is larger than 2 GiB", where,
            "give a picture file");
  std::vector<std::uint8_t> bytes(entry.size);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::pread(file_, bytes.data() + done, bytes.size() - done,
                                static_cast<off_t>(entry.offset + done));
    if (got < 0 && errno == EINTR) continue;
    TTT_CHECK(got > 0, input,
              fmt::format("can't read from the archive: {}",
                          got < 0 ? std::strerror(errno) : "it has become shorter"),
              where);
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

bool is_tar(const std::string& path) {
  if (!is_file(path)) return false;
  try {
    const std::vector<std::uint8_t> head = read_head(path, kBlock);
    Block block;
    if (head.size() != block.size()) return false;
    std::copy(head.begin(), head.end(), block.begin());
    return checksum_holds(block);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace ttt::inputs
