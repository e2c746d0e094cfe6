// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/paths.h"

#include "core/error.h"
#include "core/inputs/read_file.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace ttt::inputs {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

/// Takes the digits at the front of `text`.
std::string_view take_number(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && is_digit(text[length])) ++length;
  const std::string_view digits = text.substr(0, length);
  text.remove_prefix(length);
  return digits;
}

int compare_numbers(std::string_view a, std::string_view b) {
  a.remove_prefix(std::min(a.find_first_not_of('0'), a.size()));
  b.remove_prefix(std::min(b.find_first_not_of('0'), b.size()));
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

/// A folder's name ends before every other character, so that a folder's content stays together.
std::uint32_t rank(char c) {
  return c == '/' ? 0U : static_cast<std::uint8_t>(c) + 1U;
}

class Descriptor {
 public:
  explicit Descriptor(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

bool stat_of(const std::string& path, struct stat& info) {
  return ::stat(path.c_str(), &info) == 0;
}

/// Appends to `files`; `parents` holds the folders on the way down, against loops of links.
void scan(const std::string& folder, std::set<std::pair<dev_t, ino_t>>& parents,
          FolderScan& found) {
  for (const std::string& name : list_folder(folder)) {
    if (is_clutter(name)) continue;
    const std::string path = join(folder, name);
    struct stat info {};
    if (!stat_of(path, info)) {
      if (has_picture_suffix(path)) found.files.push_back(path);  // a broken link: an error later
      continue;
    }
    if (S_ISDIR(info.st_mode)) {
      const auto key = std::pair{info.st_dev, info.st_ino};
      if (!parents.insert(key).second) continue;
      scan(path, parents, found);
      parents.erase(key);
    } else if (S_ISREG(info.st_mode)) {
      if (has_picture_suffix(path) || begins_like_picture(path))
        found.files.push_back(path);
      else
        found.ignored_suffixes.push_back(suffix_of(path));
    }
  }
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  const std::string_view all_a = a;
  const std::string_view all_b = b;
  while (!a.empty() && !b.empty()) {
    if (is_digit(a[0]) && is_digit(b[0])) {
      const int order = compare_numbers(take_number(a), take_number(b));
      if (order != 0) return order < 0;
    } else {
      if (a[0] != b[0]) return rank(a[0]) < rank(b[0]);
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  if (a.empty() != b.empty()) return a.empty();
  return all_a < all_b;  // 1.jpg and 01.jpg
}

std::string_view name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::string suffix_of(std::string_view path) {
  const std::string_view name = name_of(path);
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? std::string{} : lower(name.substr(dot + 1));
}

std::string join(std::string_view folder, std::string_view name) {
  if (folder.empty() || folder == ".") return std::string(name);
  std::string out(folder);
  if (out.back() != '/') out += '/';
  return out += name;
}

std::vector<std::string> components(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (end > 0 && path.substr(0, end) != ".") parts.emplace_back(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return parts;
}

bool has_picture_suffix(std::string_view path) {
  static constexpr auto kSuffixes = std::to_array<std::string_view>(
      {"jpg", "jpeg", "jpe", "jfif", "png", "bmp", "dib", "webp", "tif", "tiff", "gif",
       // Pictures that we refuse by name rather than leave out without a word.
       "heic", "heif", "hif", "avif", "jxl", "jp2", "j2k", "jpx", "jxr", "svg", "psd", "xcf", "exr",
       "hdr", "ico", "tga", "dds", "qoi", "ppm", "pgm", "pbm", "pnm", "dng", "cr2", "cr3", "nef",
       "arw", "orf", "rw2", "raf", "pef", "srw"});
  const std::string suffix = suffix_of(path);
  return std::find(kSuffixes.begin(), kSuffixes.end(), suffix) != kSuffixes.end();
}

bool is_clutter(std::string_view name) {
  const std::string small = lower(name);
  return name.empty() || name[0] == '.' || name == "__MACOSX" || small == "thumbs.db" ||
         small == "desktop.ini" || small == "ehthumbs.db" || name == "@eaDir";
}

bool begins_like_picture(const std::string& path) {
  using namespace std::string_view_literals;
  std::vector<std::uint8_t> head;
  try {
    head = read_head(path, 12);
  } catch (const Error&) {
    return false;
  }
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  for (const std::string_view magic :
       {"\xFF\xD8\xFF"sv, "\x89PNG\r\n"sv, "GIF8"sv, "II*\0"sv, "MM\0*"sv})
    if (text.starts_with(magic)) return true;
  return text.starts_with("RIFF") && text.ends_with("WEBP");
}

bool exists(const std::string& path) {
  struct stat info {};
  return stat_of(path, info);
}

bool is_folder(const std::string& path) {
  struct stat info {};
  return stat_of(path, info) && S_ISDIR(info.st_mode);
}

bool is_file(const std::string& path) {
  struct stat info {};
  return stat_of(path, info) && S_ISREG(info.st_mode);
}

std::vector<std::string> list_folder(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(folder.empty() ? "." : folder.c_str()),
                                                   ::closedir);
  if (stream == nullptr) return names;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end(), natural_less);
  return names;
}

std::vector<std::uint8_t> read_head(const std::string& path, std::size_t count) {
  const Descriptor file(path);
  const auto fail = [&](int code) {
    throw Error(ErrorKind::input, fmt::format("can't read the file: {}", std::strerror(code)),
                printable(path), code == ENOENT ? hint_for_missing(path) : std::string{});
  };
  if (file.get() < 0) fail(errno);
  constexpr std::size_t kChunk = 1 << 16;
  struct stat info {};
  const bool sized = ::fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode);
  // One byte more than the file has, so that the last read sees its end.
  const std::size_t expected = sized ? static_cast<std::size_t>(info.st_size) + 1 : kChunk;
  std::vector<std::uint8_t> bytes(std::min(count, expected));
  std::size_t size = 0;
  while (size < count) {
    if (size == bytes.size()) bytes.resize(std::min(count, size + std::max(size, kChunk)));
    const ssize_t got = ::read(file.get(), bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  bytes.resize(size);
  return bytes;
}

std::vector<std::uint8_t> read_file(const std::string& path) {
  constexpr std::size_t kMaxBytes = std::size_t{1} << 31;
  struct stat info {};
  const bool known = stat_of(path, info);
  TTT_CHECK(!known || !S_ISDIR(info.st_mode), input, "is a folder, not a file", printable(path),
            "name the file itself");
  // They may have no end.
  TTT_CHECK(!known || !(S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode)), input,
            "is a device, not a file", printable(path), "name a file");
  const bool fits = !known || info.st_size <= static_cast<off_t>(kMaxBytes);
  std::vector<std::uint8_t> bytes;
  if (fits) bytes = read_head(path, kMaxBytes + 1);
  TTT_CHECK(fits && bytes.size() <= kMaxBytes, input, "the file is larger than 2 GiB",
            printable(path), "give a picture file");
  return bytes;
}

std::string hint_for_missing(const std::string& path) {
  std::string_view stem = path;
  while (stem.size() > 1 && stem.back() == '/') stem.remove_suffix(1);
  const std::string_view name = name_of(stem);
  const std::string folder(stem.substr(0, stem.size() - name.size()));
  if (!folder.empty() && !is_folder(folder))
    return fmt::format("there is no folder {}", printable(folder));
  const auto without_suffix = [](std::string_view text) {
    return lower(text.substr(0, text.rfind('.')));
  };
  std::string other_suffix;
  for (const std::string& candidate : list_folder(folder)) {
    if (lower(candidate) == lower(name))
      return fmt::format("did you mean {}?", printable(join(folder, candidate)));
    if (other_suffix.empty() && without_suffix(candidate) == without_suffix(name))
      other_suffix = candidate;
  }
  if (!other_suffix.empty())
    return fmt::format("did you mean {}?", printable(join(folder, other_suffix)));
  return "check the spelling and the working folder";
}

FolderScan scan_folder(const std::string& folder) {
  FolderScan found;
  std::set<std::pair<dev_t, ino_t>> parents;
  struct stat info {};
  if (stat_of(folder.empty() ? "." : folder, info)) parents.insert({info.st_dev, info.st_ino});
  scan(folder, parents, found);
  return found;
}

}  // namespace ttt::inputs
