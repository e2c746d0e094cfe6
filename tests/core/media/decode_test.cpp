// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/decode.h"

#include "core/error.h"
#include "core/media/orientation.h"
#include "tests/core/media/media_files.h"
#include "tests/support/paths.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ttt {
namespace {

using Bytes = std::vector<std::uint8_t>;
using namespace std::string_literals;

Bytes bytes_of(const std::string& text) {
  return {text.begin(), text.end()};
}

/// The error of a decode; an internal one when there was none.
Error error_of(const Bytes& bytes, DecodeMode mode = DecodeMode::photo, DecodeLimits limits = {}) {
  try {
    decode_image(bytes, mode, "the_file.jpg", limits);
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorKind::internal, "decoded");
}

void expect_picture(const Bytes& bytes, DecodeMode mode, const nlohmann::json& expected) {
  if (expected.is_null()) {
    EXPECT_NE(error_of(bytes, mode).kind(), ErrorKind::internal);
    return;
  }
  const Image image = decode_image(bytes, mode, "fixture");
  EXPECT_EQ(image.width, expected.at(0));
  EXPECT_EQ(image.height, expected.at(1));
  EXPECT_EQ(test::sha256_of(image), expected.at(2));
}

TEST(Decode, EveryKindGivesTheExpectedPixels) {
  const nlohmann::json expected = test::json_file(test::data_folder() / "expected.json");
  ASSERT_GT(expected.size(), 70U);
  for (const auto& [name, pictures] : expected.items()) {
    SCOPED_TRACE(name);
    const Bytes bytes = test::file_bytes(test::data_folder() / name);
    expect_picture(bytes, DecodeMode::official, pictures.at("official"));
    expect_picture(bytes, DecodeMode::photo, pictures.at("photo"));
  }
}

TEST(Decode, PhotoModeRefusesFilesThatAreCut) {
  for (const auto& path : test::data_files()) {
    const Bytes bytes = test::file_bytes(path);
    if (error_of(bytes).kind() == ErrorKind::unsupported) continue;
    for (const double share : {0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97}) {
      const auto size = static_cast<std::ptrdiff_t>(share * static_cast<double>(bytes.size()));
      const Error error = error_of({bytes.begin(), bytes.begin() + size});
      EXPECT_EQ(error.kind(), ErrorKind::input) << path << " cut to " << size << " bytes";
    }
  }
}

TEST(Decode, PhotoModeSaysThatACutFileIsDamaged) {
  Bytes bytes = test::file_bytes(test::data_folder() / "rgb_420.jpg");
  bytes.resize(bytes.size() - 30);
  const Error error = error_of(bytes);
  EXPECT_NE(error.message().find("damaged JPEG file"), std::string::npos) << error.message();
  EXPECT_EQ(error.where(), "the_file.jpg");
  EXPECT_NE(error.hint().find("--decode official"), std::string::npos) << error.hint();
}

TEST(Decode, OfficialModeKeepsWhatThereIsOfACutFile) {
  for (const char* name : {"rgb_444.jpg", "rgba.png", "rgb.tif", "rgb.bmp", "plain.gif"}) {
    Bytes bytes = test::file_bytes(test::data_folder() / name);
    const Image whole = decode_image(bytes, DecodeMode::official, name);
    bytes.resize(bytes.size() - bytes.size() / 12);
    if (name == "plain.gif"s) bytes.resize(bytes.size());  // one block: all or nothing
    const Image cut = decode_image(bytes, DecodeMode::official, name);
    EXPECT_EQ(cut.width, whole.width) << name;
    EXPECT_EQ(cut.height, whole.height) << name;
    EXPECT_NE(cut.rgb, whole.rgb) << name;
  }
}

TEST(Decode, OfficialModeFillsMissingJpegBlocksWithGrey) {
  const Bytes bytes = test::file_bytes(test::data_folder() / "rgb_444.jpg");
  const std::string text(bytes.begin(), bytes.end());
  const std::size_t scan = text.find("\xFF\xDA"s);
  const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(scan + 24));
  const Image image = decode_image(cut, DecodeMode::official, "cut");
  for (int x = 0; x < 3 * image.width; ++x) EXPECT_EQ(image.row(image.height - 1)[x], 128);
}

TEST(Decode, ASecondJpegHeaderDoesNotChangeTheSize) {
  Bytes bytes = test::file_bytes(test::data_folder() / "progressive.jpg");
  const Image whole = decode_image(bytes, DecodeMode::official, "whole");
  const std::string text(bytes.begin(), bytes.end());
  const auto header = text.substr(text.find("\xFF\xC2"s), 19);
  ASSERT_EQ(header.size(), 19U);
  Bytes second(header.begin(), header.end());
  second[5] = second[7] = 0xFF;  // height and width
  const std::size_t scan = text.find("\xFF\xDA"s, text.find("\xFF\xDA"s) + 1);
  bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(scan), second.begin(), second.end());
  const Image image = decode_image(bytes, DecodeMode::official, "second");
  EXPECT_EQ(image.width, whole.width);
  EXPECT_EQ(image.height, whole.height);
  EXPECT_EQ(error_of(bytes).kind(), ErrorKind::input);
}

TEST(Decode, JpegFilesOfCountlessScansAreRefused) {
  const Bytes bytes = test::file_bytes(test::data_folder() / "progressive.jpg");
  const std::string text(bytes.begin(), bytes.end());
  const std::size_t last = text.rfind("\xFF\xDA"s);
  const std::string scan = text.substr(last, text.size() - 2 - last);
  std::string longer = text.substr(0, text.size() - 2);
  for (int i = 0; i < 600; ++i) longer += scan;
  longer += "\xFF\xD9";
  for (const DecodeMode mode : {DecodeMode::photo, DecodeMode::official}) {
    const Error error = error_of({longer.begin(), longer.end()}, mode);
    EXPECT_NE(std::string(error.what()).find("scans"), std::string::npos) << error.what();
  }
}

TEST(Decode, WrongChecksumsOfPngChunksAreDamage) {
  const Bytes bytes = test::file_bytes(test::data_folder() / "palette4.png");
  const std::string text(bytes.begin(), bytes.end());
  for (const char* chunk : {"IHDR", "PLTE", "tRNS", "IDAT", "IEND"}) {
    Bytes changed = bytes;
    const std::size_t at = text.find(chunk);
    const std::size_t length = std::size_t{bytes[at - 2]} << 8 | bytes[at - 1];
    changed[at + 4 + length] ^= 1;  // the first byte of the checksum
    EXPECT_EQ(error_of(changed).kind(), ErrorKind::input) << chunk;
  }
}

TEST(Decode, TheContentDecidesNotTheName) {
  const Bytes bytes = test::file_bytes(test::data_folder() / "plain.gif");
  EXPECT_EQ(decode_image(bytes, DecodeMode::photo, "photo.png").width, 13);
}

struct Named {
  std::string content;
  ErrorKind kind;
  std::string name;  ///< must occur in the message
};

TEST(Decode, OtherKindsOfFileAreRefusedByName) {
  const std::string zeros(64, '\0');
  const std::vector<Named> cases{
      {"", ErrorKind::input, "empty"},
      {"\0\0\0\x18"s + "ftypheic"s + zeros, ErrorKind::unsupported, "HEIC"},
      {"\0\0\0\x18"s + "ftypmif1\0\0\0\0mif1heic"s + zeros, ErrorKind::unsupported, "HEIC"},
      {"\0\0\0\x1C"s + "ftypmif1\0\0\0\0mif1avifmiaf"s + zeros, ErrorKind::unsupported, "AVIF"},
      {"\0\0\0\x1C"s + "ftypavif\0\0\0\0"s + zeros, ErrorKind::unsupported, "AVIF"},
      {"\0\0\0\x18"s + "ftypisom"s + zeros, ErrorKind::unsupported, "MP4"},
      {"\0\0\0\x14"s + "ftypqt  "s + zeros, ErrorKind::unsupported, "QuickTime"},
      {"\0\0\0\x18"s + "ftypcrx "s + zeros, ErrorKind::unsupported, "CR3"},
      {"<svg xmlns='http://www.w3.org/2000/svg'></svg>", ErrorKind::unsupported, "SVG"},
      {"\xEF\xBB\xBF<?xml version='1.0'?>\n<!-- x -->\n<SVG width='3'/>", ErrorKind::unsupported,
       "SVG"},
      {"%PDF-1.7\n" + zeros, ErrorKind::unsupported, "PDF"},
      {"8BPS\0\1"s + zeros, ErrorKind::unsupported, "PSD"},
      {"\xFF\x0A"s + zeros, ErrorKind::unsupported, "JPEG XL"},
      {"\0\0\0\x0CjP  \r\n\x87\n"s + zeros, ErrorKind::unsupported, "JPEG 2000"},
      {"v/1\x01"s + zeros, ErrorKind::unsupported, "OpenEXR"},
      {"\0\0\1\0\1\0"s + zeros, ErrorKind::unsupported, "ICO"},
      {"II*\0\x10\0\0\0CR\2\0"s + zeros, ErrorKind::unsupported, "CR2"},
      {"FUJIFILMCCD-RAW 0201"s + zeros, ErrorKind::unsupported, "RAW"},
      {"P6\n2 2\n255\n............", ErrorKind::unsupported, "PPM"},
      {"\x1A\x45\xDF\xA3"s + zeros, ErrorKind::unsupported, "Matroska"},
      {"RIFF\x24\0\0\0AVI LIST"s + zeros, ErrorKind::unsupported, "AVI"},
      {"<!DOCTYPE html><html><body>404</body></html>", ErrorKind::input, "HTML"},
      {"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>", ErrorKind::input, "XML"},
      {"{\"error\": \"not found\"}\n", ErrorKind::input, "text"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:ab\n", ErrorKind::input, "LFS"},
      {"PK\3\4"s + zeros, ErrorKind::input, "zip"},
      {"\x1F\x8B\x08"s + zeros, ErrorKind::input, "gzip"},
      {zeros, ErrorKind::input, "zero bytes"},
      {"\xE7\x03\x99\xFE\x01"s + zeros, ErrorKind::input, "unknown"},
  };
  for (const Named& named : cases)
    for (const DecodeMode mode : {DecodeMode::photo, DecodeMode::official}) {
      const Error error = error_of(bytes_of(named.content), mode);
      EXPECT_EQ(error.kind(), named.kind) << named.name;
      EXPECT_NE(error.message().find(named.name), std::string::npos) << error.message();
      EXPECT_FALSE(error.hint().empty()) << named.name;
    }
}

/// Headers of a few bytes that ask for a lot of memory.
TEST(Decode, AbsurdSizesAreRefusedBeforeMemoryIsTouched) {
  const auto big_endian = [](std::uint32_t value) {
    return std::string{static_cast<char>(value >> 24), static_cast<char>(value >> 16),
                       static_cast<char>(value >> 8), static_cast<char>(value)};
  };
  const auto little_endian = [&](std::uint32_t value) {
    const std::string text = big_endian(value);
    return std::string(text.rbegin(), text.rend());
  };
  Bytes png = test::file_bytes(test::data_folder() / "grey8.png");
  const std::string side = big_endian(0x7FFFFFFF);
  std::copy(side.begin(), side.end(), png.begin() + 16);
  EXPECT_EQ(error_of(png).kind(), ErrorKind::input);

  const auto bmp = [&](std::uint32_t width, std::uint32_t height) {
    return bytes_of("BM" + std::string(8, '\0') + little_endian(54) + little_endian(40) +
                    little_endian(width) + little_endian(height) + "\1\0\x18\0"s +
                    std::string(24, '\0'));
  };
  for (const auto& [width, height] :
       {std::pair{0x7FFFFFFFU, 0x7FFFFFFFU}, {0xFFFFFFFFU, 1U}, {65536U, 65536U}, {0U, 5U}}) {
    const Error error = error_of(bmp(width, height), DecodeMode::official);
    EXPECT_EQ(error.kind(), ErrorKind::input) << width << "x" << height;
    EXPECT_NE(error.message().find(std::to_string(width)), std::string::npos) << error.message();
  }
  // Within the limits, but the file can't hold it.
  EXPECT_EQ(error_of(bmp(13000, 13000)).kind(), ErrorKind::input);

  const Bytes gif = bytes_of("GIF89a\xFF\xFF\xFF\xFF\0\0\0,\0\0\0\0\xFF\xFF\xFF\xFF\0\2\1\4\0;"s);
  EXPECT_EQ(error_of(gif, DecodeMode::official).kind(), ErrorKind::input);
  EXPECT_EQ(error_of(gif).kind(), ErrorKind::input);

  Bytes jpeg = test::file_bytes(test::data_folder() / "progressive.jpg");
  const std::string text(jpeg.begin(), jpeg.end());
  const std::size_t frame = text.find("\xFF\xC2"s);
  std::fill_n(jpeg.begin() + static_cast<std::ptrdiff_t>(frame) + 5, 4, std::uint8_t{0xFF});
  EXPECT_EQ(error_of(jpeg, DecodeMode::official).kind(), ErrorKind::input);
  jpeg[frame + 5] = jpeg[frame + 7] = 0x30;  // 12543 pixels a side
  EXPECT_EQ(error_of(jpeg).kind(), ErrorKind::input);
}

TEST(Decode, LimitsAreThoseOfTheCaller) {
  const Bytes bytes = test::file_bytes(test::data_folder() / "rgb_444.jpg");
  EXPECT_EQ(error_of(bytes, DecodeMode::photo, {.max_pixels = 13 * 11}).kind(),
            ErrorKind::internal);
  EXPECT_EQ(error_of(bytes, DecodeMode::photo, {.max_pixels = 13 * 11 - 1}).kind(),
            ErrorKind::input);
  EXPECT_EQ(error_of(bytes, DecodeMode::photo, {.max_side = 12}).kind(), ErrorKind::input);
}

TEST(Decode, NamesInMessagesAreMadePrintable) {
  try {
    decode_image(Bytes{}, DecodeMode::photo, "a\x1B[31m\xFF.jpg");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.where(), "a\\x1B[31m\\xFF.jpg");
  }
}

TEST(Orientation, DamagedExifBlocksMeanUpright) {
  const auto exif = [](const std::string& text) { return exif_orientation(bytes_of(text)); };
  EXPECT_EQ(exif("II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0\0\0"s), 6);
  EXPECT_EQ(exif("Exif\0\0MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\3\0\0"s), 3);
  EXPECT_EQ(exif("II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\x09\0\0\0"s), 1);
  EXPECT_EQ(exif("II*\0\x08\0\0\0\xFF\xFF"s), 1);
  EXPECT_EQ(exif("II*\0\xFF\xFF\xFF\xFF"s), 1);
  EXPECT_EQ(exif("garbage garbage"), 1);
  EXPECT_EQ(exif(""), 1);
}

}  // namespace
}  // namespace ttt
