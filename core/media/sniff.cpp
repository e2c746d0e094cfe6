// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/codec.h"

#include <algorithm>
#include <array>
#include <string>

namespace ttt {
namespace {

using namespace std::string_view_literals;

constexpr auto kSupportedHint = "give a JPEG, PNG, BMP, WebP, TIFF or GIF file"sv;
constexpr auto kConvertHint = "convert it to JPEG or PNG"sv;
constexpr auto kFrameHint = "extract single frames as JPEG or PNG"sv;
constexpr auto kRasterHint = "export it as PNG in the size you need"sv;
constexpr auto kHeicHint =
    "convert it to JPEG, for example with heif-convert or by the phone's own export"sv;

/// A format that is known by the bytes at one place.
struct Magic {
  std::size_t offset;
  std::string_view bytes;
  SniffedFormat result;
};

constexpr SniffedFormat unsupported(std::string_view name, std::string_view hint = kConvertHint) {
  return {ImageFormat::unsupported_picture, name, hint};
}
constexpr SniffedFormat other(std::string_view name, std::string_view hint = kSupportedHint) {
  return {ImageFormat::not_a_picture, name, hint};
}

/// In order: camera RAW formats that begin like a TIFF come before TIFF.
constexpr std::array kMagics{
    Magic{0, "\xFF\xD8\xFF"sv, {ImageFormat::jpeg, "JPEG", {}}},
    Magic{0, "\x89PNG\r\n\x1A\n"sv, {ImageFormat::png, "PNG", {}}},
    Magic{0, "GIF87a"sv, {ImageFormat::gif, "GIF", {}}},
    Magic{0, "GIF89a"sv, {ImageFormat::gif, "GIF", {}}},
    Magic{8, "CR\x02\0"sv, unsupported("a Canon CR2 camera RAW file")},
    Magic{0, "IIRO"sv, unsupported("an Olympus camera RAW file")},
    Magic{0, "IIRS"sv, unsupported("an Olympus camera RAW file")},
    Magic{0, "IIU\0"sv, unsupported("a Panasonic camera RAW file")},
    Magic{0, "FUJIFILMCCD-RAW"sv, unsupported("a Fujifilm camera RAW file")},
    Magic{0, "II\xBC"sv, unsupported("a JPEG XR picture")},
    Magic{0, "II*\0"sv, {ImageFormat::tiff, "TIFF", {}}},
    Magic{0, "MM\0*"sv, {ImageFormat::tiff, "TIFF", {}}},
    Magic{0, "II+\0"sv, {ImageFormat::tiff, "BigTIFF", {}}},
    Magic{0, "MM\0+"sv, {ImageFormat::tiff, "BigTIFF", {}}},
    Magic{0, "\xFF\x0A"sv, unsupported("a JPEG XL picture")},
    Magic{0, "\0\0\0\x0CJXL \r\n\x87\n"sv, unsupported("a JPEG XL picture")},
    Magic{0, "\0\0\0\x0CjP  \r\n\x87\n"sv, unsupported("a JPEG 2000 picture")},
    Magic{0, "\xFF\x4F\xFF\x51"sv, unsupported("a JPEG 2000 picture")},
    Magic{0, "8BPS"sv, unsupported("a Photoshop (PSD) picture", kRasterHint)},
    Magic{0, "gimp xcf"sv, unsupported("a GIMP (XCF) picture", kRasterHint)},
    Magic{0, "%PDF"sv, unsupported("a PDF document", kRasterHint)},
    Magic{0, "%!PS"sv, unsupported("a PostScript file", kRasterHint)},
    Magic{0, "\xC5\xD0\xD3\xC6"sv, unsupported("an EPS picture", kRasterHint)},
    Magic{0, "v/1\x01"sv, unsupported("an OpenEXR picture")},
    Magic{0, "#?RADIANCE"sv, unsupported("a Radiance HDR picture")},
    Magic{0, "\0\0\x01\0"sv, unsupported("a Windows icon (ICO)")},
    Magic{0, "\0\0\x02\0"sv, unsupported("a Windows cursor (CUR)")},
    Magic{0, "DDS "sv, unsupported("a DDS texture")},
    Magic{0, "qoif"sv, unsupported("a QOI picture")},
    Magic{0, "FLIF"sv, unsupported("a FLIF picture")},
    Magic{0, "BPG\xFB"sv, unsupported("a BPG picture")},
    Magic{0, "\x8AMNG"sv, unsupported("an MNG animation", kFrameHint)},
    Magic{0, "\x1A\x45\xDF\xA3"sv, unsupported("a Matroska or WebM video", kFrameHint)},
    Magic{8, "AVI "sv, unsupported("an AVI video", kFrameHint)},
    Magic{0, "FLV\x01"sv, unsupported("a Flash video", kFrameHint)},
    Magic{0, "\0\0\x01\xBA"sv, unsupported("an MPEG video", kFrameHint)},
    Magic{4, "moov"sv, unsupported("a QuickTime video", kFrameHint)},
    Magic{4, "mdat"sv, unsupported("a QuickTime video", kFrameHint)},
    Magic{8, "WAVE"sv, other("a WAV sound file")},
    Magic{0, "OggS"sv, other("an Ogg media file")},
    Magic{0, "PK\x03\x04"sv, other("a zip archive", "unpack it and give the folder")},
    Magic{0, "\x1F\x8B"sv, other("a gzip file", "unpack it with gunzip first")},
    Magic{0, "BZh"sv, other("a bzip2 file", "unpack it with bunzip2 first")},
    Magic{0,
          "\xFD"
          "7zXZ\0"sv,
          other("an xz file", "unpack it with unxz first")},
    Magic{0, "\x28\xB5\x2F\xFD"sv, other("a zstd file", "unpack it with unzstd first")},
    Magic{0, "7z\xBC\xAF"sv, other("a 7-Zip archive", "unpack it and give the folder")},
    Magic{0, "Rar!"sv, other("a RAR archive", "unpack it and give the folder")},
    Magic{257, "ustar"sv, other("a tar archive", "name it with the suffix .tar to read inside")},
    Magic{0, "\x93NUMPY"sv, other("a NumPy array")},
    Magic{0,
          "\x7F"
          "ELF"sv,
          other("a program")},
    Magic{0, "version https://git-lfs"sv,
          other("a Git LFS pointer instead of the file", "run git lfs pull")},
};

bool has_at(std::string_view text, std::size_t offset, std::string_view bytes) {
  return text.size() >= offset + bytes.size() && text.substr(offset, bytes.size()) == bytes;
}

/// ISO base media files (HEIC, AVIF, MP4, …) name themselves by brands after "ftyp".
SniffedFormat sniff_brand(std::string_view text) {
  struct Brand {
    std::string_view brand;
    SniffedFormat result;
  };
  static constexpr std::array kBrands{Brand{"avif", unsupported("an AVIF picture")},
                                      Brand{"avis", unsupported("an AVIF animation")},
                                      Brand{"crx ", unsupported("a Canon CR3 camera RAW file")},
                                      Brand{"heic", unsupported("a HEIC picture", kHeicHint)},
                                      Brand{"heix", unsupported("a HEIC picture", kHeicHint)},
                                      Brand{"heim", unsupported("a HEIC picture", kHeicHint)},
                                      Brand{"heis", unsupported("a HEIC picture", kHeicHint)},
                                      Brand{"hevc", unsupported("a HEIC animation", kHeicHint)},
                                      Brand{"hevx", unsupported("a HEIC animation", kHeicHint)},
                                      Brand{"jxl ", unsupported("a JPEG XL picture")},
                                      Brand{"qt  ", unsupported("a QuickTime video", kFrameHint)},
                                      // Generic brands last: AVIF and HEIC files list them too.
                                      Brand{"mif1", unsupported("a HEIF picture", kHeicHint)},
                                      Brand{"msf1", unsupported("a HEIF animation", kHeicHint)}};
  const std::size_t box_end =
      std::min<std::size_t>(text.size(), static_cast<std::uint8_t>(text[3]));
  for (const Brand& candidate : kBrands)
    for (std::size_t at = 8; at + 4 <= box_end; at += 4)
      if (at != 12 && text.substr(at, 4) == candidate.brand) return candidate.result;
  return unsupported("an MP4 video", kFrameHint);
}

/// Samples made of ASCII letters, digits and the usual marks.
bool looks_like_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<std::uint8_t>(c);
    return byte >= 0x20 || byte == '\t' || byte == '\n' || byte == '\r' || byte == '\f';
  });
}

SniffedFormat sniff_text(std::string_view text) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  std::string lower(text.substr(0, 1000));
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const auto contains = [&](std::string_view part) {
    return lower.find(part) != std::string::npos;
  };
  if (lower.starts_with("<") && contains("<svg")) return unsupported("an SVG drawing", kRasterHint);
  if (lower.starts_with("<!doctype html") || (lower.starts_with("<") && contains("<html")))
    return other("an HTML page", "download the picture itself, not the page around it");
  if (lower.starts_with("<?xml")) return other("an XML file");
  if (text.empty()) return other("a file of blanks");
  return other("a text file");
}

SniffedFormat sniff_bmp(std::string_view text) {
  const codec::ByteReader reader({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  const std::uint32_t header = reader.u32(14);
  if (text.size() < 26 || (header >= 12 && header <= 256)) return {ImageFormat::bmp, "BMP", {}};
  return other("data of an unknown kind");
}

bool is_netpbm(std::string_view text) {
  return text.size() > 2 && text[0] == 'P' && text[1] >= '1' && text[1] <= '7' &&
         (text[2] == '\n' || text[2] == ' ' || text[2] == '\r' || text[2] == '\t');
}

}  // namespace

SniffedFormat sniff_image_format(std::span<const std::uint8_t> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.empty()) return other("the file is empty", "get or export the picture again");
  for (const Magic& magic : kMagics)
    if (has_at(text, magic.offset, magic.bytes)) return magic.result;
  if (has_at(text, 0, "RIFF") && has_at(text, 8, "WEBP")) return {ImageFormat::webp, "WebP", {}};
  if (has_at(text, 4, "ftyp")) return sniff_brand(text);
  if (is_netpbm(text)) return unsupported("a PPM, PGM or PBM picture");
  if (has_at(text, 0, "BM") && !looks_like_text(text.substr(0, 64))) return sniff_bmp(text);
  if (std::all_of(text.begin(), text.end(), [](char c) { return c == 0; }))
    return other("nothing but zero bytes", "get or export the picture again");
  if (looks_like_text(text.substr(0, 512))) return sniff_text(text);
  return other("data of an unknown kind");
}

}  // namespace ttt
