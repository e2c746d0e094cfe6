// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/training/labelled_images.h"

#include "core/error.h"
#include "vision/training/tar_members.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <mutex>

namespace ttt::vision {
namespace {

namespace fs = std::filesystem;
using Bytes = std::span<const std::uint8_t>;

Bytes bytes_of(const weights::MappedFile& file) {
  return {reinterpret_cast<const std::uint8_t*>(file.data()), file.size()};
}

bool is_hidden(std::string_view name) { return name.starts_with('.'); }

std::vector<std::uint8_t> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  TTT_CHECK(file.good(), input, "the picture can't be opened", printable(path));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// A whole non-negative number, or nothing.
std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

/// The cell at the front of a CSV line, which is removed; quotes double inside quotes.
std::string take_cell(std::string_view& line) {
  std::string cell;
  bool quoted = false;
  std::size_t i = 0;
  for (; i < line.size(); ++i) {
    if (line[i] == '"') {
      if (quoted && i + 1 < line.size() && line[i + 1] == '"') {
        cell += line[i++];
      } else {
        quoted = !quoted;
      }
    } else if (line[i] == ',' && !quoted) {
      break;
    } else {
      cell += line[i];
    }
  }
  line.remove_prefix(std::min(line.size(), i + 1));
  return cell;
}

}  // namespace

/// Decoded pictures, until the budget is used up.
class LabelledImages::Cache {
 public:
  Cache(std::size_t samples, std::uint64_t budget) : images_(samples), budget_(budget) {}

  std::shared_ptr<const Image> find(std::size_t index) const {
    const std::lock_guard lock(mutex_);
    return images_[index];
  }

  void offer(std::size_t index, const std::shared_ptr<const Image>& image) {
    const std::uint64_t size = sizeof(Image) + image->rgb.size();
    const std::lock_guard lock(mutex_);
    if (images_[index] || size > budget_) return;
    budget_ -= size;
    images_[index] = image;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const Image>> images_;
  std::uint64_t budget_;
};

LabelledImages::LabelledImages(const std::string& source, const LabelledImagesOptions& options)
    : options_(options) {
  const fs::path path(source);
  std::error_code ignored;
  const std::optional<ArchivePath> archive = split_archive_path(path);
  if (fs::is_directory(path, ignored)) {
    list_folder(path);
  } else if (archive && archive->file == path && path.extension() == ".csv") {
    list_csv(path);
  } else {
    TTT_CHECK(archive, usage, "there is no such file or folder", printable(source),
              "name a folder with class folders, a tar archive, or a CSV file `path,label`");
    list_archive(archive->file, archive->folder);
  }
  assign_labels(source);
  cache_ = std::make_unique<Cache>(samples_.size(), options.cache_bytes);
}

LabelledImages::~LabelledImages() = default;

void LabelledImages::list_folder(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!entry.is_directory() || is_hidden(name)) continue;
    for (const auto& file : fs::recursive_directory_iterator(entry.path()))
      if (file.is_regular_file() && !is_hidden(file.path().filename().string()))
        samples_.push_back({.name = file.path().string(), .class_name = name});
  }
}

void LabelledImages::list_archive(const fs::path& file, const std::string& folder) {
  archive_ = std::make_shared<weights::MappedFile>(file);
  const std::string where = printable(file.string());
  TTT_CHECK(looks_like_tar(bytes_of(*archive_)), usage, "the file is not a tar archive", where,
            "name a folder with class folders, an uncompressed tar archive, or a CSV file");
  const std::string prefix = folder.empty() ? "" : folder + "/";
  for (const TarMember& member : tar_members(bytes_of(*archive_), where)) {
    std::string_view name = member.name;
    if (name.starts_with("./")) name.remove_prefix(2);
    if (!name.starts_with(prefix)) continue;
    const std::string_view below = name.substr(prefix.size());
    const std::size_t slash = below.find('/');
    if (slash == std::string_view::npos || is_hidden(below)) continue;
    samples_.push_back({.name = member.name,
                        .class_name = std::string(below.substr(0, slash)),
                        .offset = member.offset,
                        .size = member.size});
  }
}

void LabelledImages::list_csv(const fs::path& file) {
  std::ifstream stream(file);
  TTT_CHECK(stream.good(), usage, "the list can't be opened", printable(file.string()));
  std::string line;
  for (std::int64_t number = 1; std::getline(stream, line); ++number) {
    if (number == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    std::string_view rest = line;
    const std::string path = take_cell(rest);
    const std::string label = take_cell(rest);
    if (number == 1 && label == "label") continue;  // a heading
    TTT_CHECK(!path.empty() && !label.empty(), usage, "the line is not `path,label`",
              fmt::format("{}:{}", printable(file.string()), number));
    samples_.push_back({.name = (file.parent_path() / path).string(), .class_name = label});
  }
}

void LabelledImages::assign_labels(const std::string& source) {
  TTT_CHECK(!samples_.empty(), usage, "no pictures in class folders were found", printable(source),
            "expected CLASS/picture files; of an archive with more folders name one: FILE.tar/train");
  const bool numbered = std::all_of(samples_.begin(), samples_.end(), [](const Sample& sample) {
    return whole_number(sample.class_name).has_value();
  });
  classes_ = options_.classes;
  if (classes_.empty()) {
    for (const Sample& sample : samples_) classes_.push_back(sample.class_name);
    std::sort(classes_.begin(), classes_.end());
    classes_.erase(std::unique(classes_.begin(), classes_.end()), classes_.end());
  }
  for (Sample& sample : samples_) {
    const auto found = std::find(classes_.begin(), classes_.end(), sample.class_name);
    if (found != classes_.end()) {
      sample.label = found - classes_.begin();
      continue;
    }
    const std::optional<std::int64_t> index =
        numbered ? whole_number(sample.class_name) : std::nullopt;
    TTT_CHECK(index && *index < static_cast<std::int64_t>(classes_.size()), usage,
              fmt::format("the class \"{}\" is not among the {} known ones",
                          printable(sample.class_name), classes_.size()),
              printable(source), "training and evaluation data must have the same class names");
    sample.label = *index;
  }
  std::sort(samples_.begin(), samples_.end(), [](const Sample& a, const Sample& b) {
    return a.label != b.label ? a.label < b.label : a.name < b.name;
  });
}

std::shared_ptr<const Image> LabelledImages::load(std::int64_t index) const {
  const auto position = static_cast<std::size_t>(index);
  if (std::shared_ptr<const Image> cached = cache_->find(position)) return cached;
  const Sample& sample = samples_[position];
  const auto decode = [&](Bytes bytes) {
    return std::make_shared<const Image>(decode_image(bytes, options_.decode, sample.name));
  };
  std::shared_ptr<const Image> image;
  if (archive_) {
    image = decode(bytes_of(*archive_).subspan(sample.offset, sample.size));
  } else {
    image = decode(read_file(sample.name));
  }
  cache_->offer(position, image);
  return image;
}

std::optional<ArchivePath> split_archive_path(const fs::path& path) {
  std::string folder;
  std::error_code ignored;
  for (fs::path at = path; !at.empty(); at = at.parent_path()) {
    if (fs::is_regular_file(at, ignored)) return ArchivePath{at, folder};
    if (fs::exists(at, ignored) || at == at.parent_path()) break;
    const std::string name = at.filename().string();
    if (!name.empty()) folder = folder.empty() ? name : name + "/" + folder;
  }
  return std::nullopt;
}

}  // namespace ttt::vision
