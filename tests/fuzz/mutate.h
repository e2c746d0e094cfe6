// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/fuzz/random.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ttt::fuzz {

/// Mutants end here, so that a run stays fast.
inline constexpr std::size_t kMaxMutant = 1 << 18;

/// Texts that mean something to a reader, to be put anywhere.
using Tokens = std::vector<std::string>;

/// A piece of a file that can be removed, repeated, moved or replaced while the file stays in form:
/// a chunk of a PNG, an instruction of a pickle, a file of an archive.
struct Part {
  std::string head;  ///< its name and settings, as the format wants them
  std::string body;
};
using Parts = std::vector<Part>;

/// How a kind of file is taken apart and put together, with the lengths and checksums right, so
/// that mutants get past the first check of a reader.
struct Format {
  /// Takes any bytes; what isn't in form becomes one part without a head.
  Parts (*split)(std::string_view bytes, Random& random);
  /// Takes any parts. Now and then makes one thing wrong.
  std::string (*join)(const Parts& parts, Random& random);
  /// A part of a kind that the format knows.
  Part (*make)(Random& random) = nullptr;
  /// The format of a part's body, or null.
  const Format* (*inner)(const Part& part) = nullptr;
  Tokens tokens = {};
  /// Gives a part another value of the same kind.
  void (*vary)(Part& part, Random& random) = nullptr;
};

const Format& jpeg_format();
const Format& pickle_format();
const Format& png_format();
/// WebP.
const Format& riff_format();
const Format& safetensors_format();
const Format& tar_format();
/// JSON, CSV and lists: words and the marks between them.
const Format& text_format();
const Format& tiff_format();
const Format& zip_format();

/// Damages bytes without regard to what they mean: bits, bytes, numbers, stretches.
void mutate_bytes(std::string& bytes, Random& random, const Tokens& tokens);
/// Removes, repeats, moves, makes and damages parts; `other` lends some.
void edit_parts(Parts& parts, const Parts& other, const Format& format, Random& random);
/// A mutant of one or two of the seeds. `format` may be null.
std::string mutate(const std::vector<std::string>& seeds, const Format* format, Random& random);

/// A number of up to eight bytes; those beyond the end count as zero.
std::uint64_t load_number(std::string_view bytes, std::size_t at, int count, bool big_endian);
void store_number(std::string& bytes, std::size_t at, std::uint64_t value, int count,
                  bool big_endian);
std::string number_bytes(std::uint64_t value, int count, bool big_endian);
/// A number at the edge of something: 0, 2^n and its neighbours, small ones.
std::uint64_t edge_number(Random& random);
/// The value, or now and then an edge number.
std::uint64_t rarely_wrong(std::uint64_t value, Random& random);

}  // namespace ttt::fuzz
