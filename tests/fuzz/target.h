// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/fuzz/mutate.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ttt::fuzz {

/// What a reader made of an input.
struct Outcome {
  bool accepted = false;
  std::uint64_t digest = 0;  ///< of all that it gave, or of its error
};

/// Files of a folder below the source tree.
struct Seeds {
  std::string_view folder;
  std::string_view suffix;  ///< empty: all
};

/// One reader, and what it may take.
struct Target {
  std::string_view name;
  const Format& (*format)();  ///< null: only bytes are damaged
  std::vector<Seeds> seeds;
  /// Throws Violation when a promise of the reader is broken.
  Outcome (*read)(std::string_view bytes);
  std::uint64_t memory_base = 0;      ///< bytes that it may hold at once whatever the input's size,
  std::uint64_t memory_per_byte = 0;  ///< and for each byte of it
  std::size_t max_input = kMaxMutant;
};

std::vector<Target> config_targets();
std::vector<Target> picture_targets();
std::vector<Target> text_targets();
std::vector<Target> weight_targets();
const std::vector<Target>& targets();
/// The target of that name, or null.
const Target* find_target(std::string_view name);

std::filesystem::path source_folder();
std::string read_bytes(const std::filesystem::path& path);
/// In the order of their names.
std::vector<std::filesystem::path> seed_files(const Target& target);
/// Throws std::runtime_error when there are none.
std::vector<std::string> read_seeds(const Target& target);
/// The inputs that once broke the target: tests/fuzz/regressions/<name>/.
std::vector<std::filesystem::path> regression_files(const Target& target);

/// The input of a seed and an index: always the same while the seed files are the same.
std::string make_input(const Target& target, const std::vector<std::string>& seeds,
                       std::uint64_t seed, std::uint64_t index);

/// Writes the bytes to a file in memory, always the same one, and returns its path.
std::string memory_file(std::string_view bytes);

}  // namespace ttt::fuzz
