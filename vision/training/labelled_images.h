// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/media/decode.h"
#include "core/weights/mapped_file.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ttt::vision {

struct LabelledImagesOptions {
  DecodeMode decode = DecodeMode::photo;
  /// Decoded pictures are kept in memory up to this many bytes.
  std::uint64_t cache_bytes = std::uint64_t{2} << 30;
  /// Class names in label order; empty: the sorted class folders (or labels of the list).
  std::vector<std::string> classes;
};

/// Pictures with class labels, from
/// - a folder with one folder a class (hidden ones are left out),
/// - a tar archive with such folders, read in place: FILE.tar, or FILE.tar/FOLDER for a part of it,
/// - a CSV file with lines `path,label`, paths relative to the file; labels are class names or, if
///   all are whole numbers, indices.
/// Samples are sorted by class, then by name.
class LabelledImages {
 public:
  /// Throws Error(usage) for sources that don't exist or hold no pictures, Error(input) for damaged
  /// ones.
  LabelledImages(const std::string& source, const LabelledImagesOptions& options);
  ~LabelledImages();

  std::int64_t size() const { return static_cast<std::int64_t>(samples_.size()); }
  const std::vector<std::string>& classes() const { return classes_; }
  std::int64_t label(std::int64_t index) const { return at(index).label; }
  const std::string& name(std::int64_t index) const { return at(index).name; }
  /// Decoded, from the cache if possible. Thread-safe. Throws Error(input) or Error(unsupported).
  std::shared_ptr<const Image> load(std::int64_t index) const;

 private:
  struct Sample {
    std::string name;
    std::string class_name;
    std::int64_t label = 0;
    std::uint64_t offset = 0, size = 0;  ///< of its bytes, in an archive
  };
  class Cache;

  const Sample& at(std::int64_t index) const { return samples_[static_cast<std::size_t>(index)]; }
  void list_folder(const std::filesystem::path& folder);
  void list_archive(const std::filesystem::path& file, const std::string& folder);
  void list_csv(const std::filesystem::path& file);
  void assign_labels(const std::string& source);

  LabelledImagesOptions options_;
  std::vector<Sample> samples_;
  std::vector<std::string> classes_;
  std::shared_ptr<const weights::MappedFile> archive_;
  std::unique_ptr<Cache> cache_;
};

/// The archive and the folder inside that FILE.tar/FOLDER means; nothing if no part of the path is
/// a file.
struct ArchivePath {
  std::filesystem::path file;
  std::string folder;
};
std::optional<ArchivePath> split_archive_path(const std::filesystem::path& path);

}  // namespace ttt::vision
