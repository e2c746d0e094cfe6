// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/weights/file_kind.h"

#include "core/error.h"
#include "core/weights/safetensors.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <vector>

namespace ttt::weights {
namespace fs = std::filesystem;
using namespace std::string_view_literals;
namespace {

struct Signature {
  std::size_t offset;
  std::string_view bytes;
  const char* what;
  const char* hint;
};

constexpr const char* kResave =
    "load it with PyTorch and save it again with torch.save of PyTorch 1.6 or newer";
constexpr const char* kUnpack = "unpack it and give the weight file inside";
constexpr const char* kOtherFormat = "convert it to safetensors with the tool that wrote it";
constexpr const char* kPicture = "give the weight file; pictures go where inputs go";

constexpr std::array kSignatures{
    // The magic number of torch.save before 1.6, written by pickle protocols 2 to 5.
    Signature{2, "\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."sv,
              "this is the old torch.save format (before PyTorch 1.6), which we don't read",
              kResave},
    Signature{0, "\x80\x02"sv, "this is a bare Python pickle, not a torch.save zip file", kResave},
    Signature{0, "\x80\x03"sv, "this is a bare Python pickle, not a torch.save zip file", kResave},
    Signature{0, "\x80\x04"sv, "this is a bare Python pickle, not a torch.save zip file", kResave},
    Signature{0, "\x80\x05"sv, "this is a bare Python pickle, not a torch.save zip file", kResave},
    Signature{0, "GGUF"sv, "this is a GGUF file, which we don't read", kOtherFormat},
    Signature{0, "\x89HDF\r\n\x1a\n"sv, "this is an HDF5 file (Keras?), which we don't read",
              kOtherFormat},
    Signature{0, "\x93NUMPY"sv, "this is a NumPy .npy file, which this version doesn't read yet",
              "save the arrays as safetensors"},
    Signature{257, "ustar"sv, "this is a tar archive, not a torch.save file", kUnpack},
    Signature{0, "\x1f\x8b"sv, "this file is gzip-compressed", kUnpack},
    Signature{0, "BZh"sv, "this file is bzip2-compressed", kUnpack},
    Signature{0, "\xfd\x37zXZ\0"sv, "this file is xz-compressed", kUnpack},
    Signature{0, "\x28\xb5\x2f\xfd"sv, "this file is zstd-compressed", kUnpack},
    Signature{0, "7z\xbc\xaf\x27\x1c"sv, "this is a 7z archive", kUnpack},
    Signature{0, "Rar!\x1a\x07"sv, "this is a RAR archive", kUnpack},
    Signature{0, "\x89PNG\r\n"sv, "this is a PNG picture, not a weight file", kPicture},
    Signature{0, "\xff\xd8\xff"sv, "this is a JPEG picture, not a weight file", kPicture},
    Signature{0, "GIF8"sv, "this is a GIF picture, not a weight file", kPicture},
    Signature{8, "WEBP"sv, "this is a WebP picture, not a weight file", kPicture},
    Signature{0, "%PDF-"sv, "this is a PDF document, not a weight file",
              "download the weight file itself"},
    Signature{0,
              "\x7f"
              "ELF"sv,
              "this is a program, not a weight file", "give the weight file"},
};

bool starts_with_ignoring_case(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), text.begin(), [](char a, char b) {
           return std::tolower(static_cast<unsigned char>(a)) ==
                  std::tolower(static_cast<unsigned char>(b));
         });
}

/// The text without a byte-order mark and leading white space.
std::string_view skip_blank(std::string_view text) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string_view{} : text.substr(first);
}

/// "oid sha256:…\nsize 123\n" of a Git LFS pointer gives "123".
std::string lfs_size(std::string_view text) {
  const std::size_t at = text.find("\nsize ");
  if (at == std::string_view::npos) return {};
  std::string_view digits = text.substr(at + 6);
  digits = digits.substr(0, digits.find_first_not_of("0123456789"));
  return std::string(digits.substr(0, 20));
}

void refuse_text(std::string_view head, const MappedFile& file) {
  const std::string_view text = skip_blank(head);
  if (text.starts_with("version https://git-lfs.github.com/spec/")) {
    const std::string size = lfs_size(text);
    throw Error(
        ErrorKind::weights,
        fmt::format("this is a Git LFS pointer, not the weights: {} bytes expected, {} found",
                    size.empty() ? "more" : size, file.size()),
        file.where(), "run `git lfs pull` in that repository, or download the file itself");
  }
  for (const std::string_view tag :
       {"<!doctype"sv, "<html"sv, "<?xml"sv, "<head"sv, "<body"sv, "<!--"sv, "<error"sv})
    TTT_CHECK(!starts_with_ignoring_case(text, tag), weights,
              "this is a web page (HTML or XML), not weights", file.where(),
              "the download got an error or login page; fetch the file itself");
  const bool zeros = head.find_first_not_of('\0') == std::string_view::npos;
  TTT_CHECK(!zeros, weights, "the file begins with nothing but zeros: the download is incomplete",
            file.where(), "fetch the file again");
  const bool printable_text = std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\r' || c == '\t';
  });
  TTT_CHECK(!printable_text, weights, "this is text, not weights: \"" + printable(text, 60) + "\"",
            file.where(), "give a .safetensors, .pth, .pt or .ckpt file");
}

std::string suffix_of(const fs::path& path) {
  std::string suffix = path.extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return suffix;
}

struct FolderListing {
  std::vector<fs::path> indices;
  std::vector<fs::path> safetensors;
  std::vector<fs::path> torch;
};

FolderListing list_weight_files(const fs::path& folder) {
  FolderListing listing;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path& path = entry->path();
    const std::string name = path.filename().string();
    const std::string suffix = suffix_of(path);
    std::error_code ignored;
    if (name.starts_with(".") || !entry->is_regular_file(ignored)) continue;
    if (name.ends_with(".safetensors.index.json")) listing.indices.push_back(path);
    if (suffix == ".safetensors") listing.safetensors.push_back(path);
    if (suffix == ".pth" || suffix == ".pt" || suffix == ".ckpt" || suffix == ".bin")
      listing.torch.push_back(path);
  }
  for (auto* list : {&listing.indices, &listing.safetensors, &listing.torch})
    std::sort(list->begin(), list->end());
  return listing;
}

/// "a.pth, b.pth and 3 more".
std::string name_some(const std::vector<fs::path>& paths) {
  constexpr std::size_t kShown = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(paths.size(), kShown); ++i)
    text += (i == 0 ? "" : ", ") + printable(paths[i].filename().string());
  if (paths.size() > kShown) text += fmt::format(" and {} more", paths.size() - kShown);
  return text;
}

[[noreturn]] void report_missing(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  FolderListing near = list_weight_files(folder);
  std::vector<fs::path> files = std::move(near.safetensors);
  files.insert(files.end(), near.torch.begin(), near.torch.end());
  throw Error(ErrorKind::weights, "there is no such weight file or folder",
              printable(path.string()),
              files.empty() ? "check the path; weights are .safetensors, .pth, .pt or .ckpt files"
                            : "check the path; its folder holds " + name_some(files));
}

}  // namespace

FileKind recognise_file(const MappedFile& file) {
  const std::string_view bytes = file.bytes();
  const std::string_view head = bytes.substr(0, 4096);
  if (head.starts_with("PK\x03\x04"sv) || head.starts_with("PK\x05\x06"sv)) return FileKind::zip;
  std::uint64_t length = 0;
  if (bytes.size() >= 8) std::memcpy(&length, bytes.data(), sizeof(length));
  // A length that only damage or malice explains still begins a safetensors file if JSON follows,
  // unless the length itself is the beginning of JSON text.
  const bool header_follows =
      bytes.size() > 8 && bytes[8] == '{' && (length <= kMaxSafetensorsHeader || bytes[0] != '{');
  if (header_follows || (bytes.size() == 8 && length != 0 && length <= kMaxSafetensorsHeader))
    return FileKind::safetensors;
  for (const Signature& signature : kSignatures)
    TTT_CHECK(head.size() < signature.offset ||
                  !head.substr(signature.offset).starts_with(signature.bytes),
              weights, signature.what, file.where(), signature.hint);
  if (skip_blank(head).starts_with("{")) return FileKind::json;
  refuse_text(head, file);
  throw Error(ErrorKind::weights, "this is not a weight file of a kind that we know", file.where(),
              "give a safetensors file or a file written by torch.save");
}

fs::path resolve_weight_path(const fs::path& path) {
  std::error_code error;
  TTT_CHECK(!path.empty(), weights, "the path of the weights is empty", "",
            "give the path of a .safetensors, .pth, .pt or .ckpt file");
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) report_missing(path);
  if (!fs::is_directory(status)) return path;
  const FolderListing listing = list_weight_files(path);
  for (const auto* list : {&listing.indices, &listing.safetensors, &listing.torch}) {
    if (list->size() == 1) return list->front();
    TTT_CHECK(list->empty(), weights, "the folder holds several weight files: " + name_some(*list),
              printable(path.string()), "give one of them");
  }
  throw Error(ErrorKind::weights,
              "the folder holds no weights; we looked for *.safetensors.index.json, *.safetensors, "
              "*.pth, *.pt, *.ckpt and *.bin",
              printable(path.string()), "give the folder or file with the weights");
}

}  // namespace ttt::weights
