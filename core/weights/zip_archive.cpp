// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/weights/zip_archive.h"

#include "core/error.h"

#include <spdlog/fmt/fmt.h>
#include <zip.h>

namespace ttt::weights {
namespace {

/// Deflate can't shrink data further than this (two bits for 258 bytes).
constexpr std::uint64_t kMaxDeflateRatio = 1032;
constexpr const char* kFetchAgain = "the download or copy broke off; fetch the file again";

struct FileCloser {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using ZipFile = std::unique_ptr<zip_file_t, FileCloser>;

}  // namespace

ZipArchive::ZipArchive(std::shared_ptr<const MappedFile> file,
                       const std::function<std::uint64_t()>& expected_size)
    : file_(std::move(file)) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(file_->data(), file_->size(), 0, &error);
  if (source != nullptr) archive_ = zip_open_from_source(source, ZIP_RDONLY, &error);
  if (archive_ == nullptr) {
    const std::string reason = printable(zip_error_strerror(&error));
    const bool cut = zip_error_code_zip(&error) == ZIP_ER_NOZIP;
    zip_error_fini(&error);
    if (source != nullptr) zip_source_free(source);
    TTT_CHECK(cut, weights, "the zip archive is damaged: " + reason, file_->where(),
              "fetch the file again");
    const std::uint64_t least = expected_size();
    throw Error(
        ErrorKind::weights,
        fmt::format("the file is truncated: it begins as a zip archive, but the directory at "
                    "its end is missing; {} bytes expected, {} found",
                    least > file_->size() ? fmt::format("over {}", least) : "more", file_->size()),
        file_->where(), kFetchAgain);
  }
  zip_error_fini(&error);
  try {
    list_entries();
  } catch (...) {
    zip_discard(archive_);
    throw;
  }
}

ZipArchive::~ZipArchive() {
  zip_discard(archive_);
}

void ZipArchive::list_entries() {
  const zip_int64_t count = zip_get_num_entries(archive_, 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t status;
    zip_stat_init(&status);
    const auto index = static_cast<zip_uint64_t>(i);
    const char* name = zip_get_name(archive_, index, ZIP_FL_ENC_RAW);
    const bool known = zip_stat_index(archive_, index, 0, &status) == 0 && name != nullptr;
    constexpr zip_uint64_t kNeeded = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    TTT_CHECK(known && (status.valid & kNeeded) == kNeeded, weights,
              fmt::format("entry {} of the zip archive is damaged", i), file_->where(),
              kFetchAgain);
    const bool encrypted =
        (status.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && status.encryption_method != ZIP_EM_NONE;
    TTT_CHECK(!encrypted, weights, "the zip archive is encrypted", file_->where(),
              "unpack it with its password and give the weight file inside");
    TTT_CHECK(status.comp_method == ZIP_CM_STORE || status.comp_method == ZIP_CM_DEFLATE, weights,
              fmt::format("the zip entry \"{}\" is compressed by method {}, which we don't read",
                          printable(name), status.comp_method),
              file_->where(), "save the weights again with torch.save");
    entries_.push_back({name, index, status.size, status.comp_size, status.crc,
                        status.comp_method == ZIP_CM_STORE});
  }
}

const ZipEntry* ZipArchive::find(const std::string& name) const {
  for (const ZipEntry& entry : entries_)
    if (entry.name == name) return &entry;
  return nullptr;
}

void ZipArchive::check(const ZipEntry& entry) const {
  TTT_CHECK(entry.compressed_size <= file_->size(), weights,
            fmt::format("the file is truncated or damaged: the zip entry \"{}\" alone needs {} "
                        "bytes, the file has {}",
                        printable(entry.name), entry.compressed_size, file_->size()),
            file_->where(), kFetchAgain);
  const bool possible = entry.stored ? entry.size == entry.compressed_size
                                     : entry.size / kMaxDeflateRatio <= entry.compressed_size;
  TTT_CHECK(possible, weights,
            fmt::format("the zip entry \"{}\" claims {} bytes in {}, which is impossible",
                        printable(entry.name), entry.size, entry.compressed_size),
            file_->where(), "the file is damaged; fetch it again");
}

void ZipArchive::read(const ZipEntry& entry, char* destination) const {
  const auto fail = [&](const std::string& reason) {
    throw Error(ErrorKind::weights,
                fmt::format("the zip entry \"{}\" is damaged: {}", printable(entry.name),
                            printable(reason)),
                file_->where(), "fetch the file again");
  };
  const ZipFile stream(zip_fopen_index(archive_, entry.index, 0));
  if (!stream) fail(zip_strerror(archive_));
  std::uint64_t done = 0;
  while (done < entry.size) {
    const zip_int64_t count = zip_fread(stream.get(), destination + done, entry.size - done);
    if (count < 0) fail(zip_file_strerror(stream.get()));
    if (count == 0) fail(fmt::format("{} bytes expected, {} found", entry.size, done));
    done += static_cast<std::uint64_t>(count);
  }
  // The checksum is verified when the end is reached. PyTorch can be told to write none; it then
  // records zero.
  char extra = 0;
  const zip_int64_t count = zip_fread(stream.get(), &extra, 1);
  if (count > 0) fail("it is longer than it claims");
  if (count == 0) return;
  const bool unchecked = entry.stored && entry.checksum == 0 &&
                         zip_error_code_zip(zip_file_get_error(stream.get())) == ZIP_ER_CRC;
  if (!unchecked) fail(zip_file_strerror(stream.get()));
}

}  // namespace ttt::weights
