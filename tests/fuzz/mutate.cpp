// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/mutate.h"

namespace ttt::fuzz {
namespace {

std::string edit(const std::string& seed, const std::string& other, const Format& format,
                 Random& random) {
  Parts parts = format.split(seed, random);
  edit_parts(parts, random.chance(50) ? format.split(other, random) : parts, format, random);
  return format.join(parts, random);
}

/// The beginning of one and the end of the other.
std::string splice(const std::string& first, const std::string& second, Random& random) {
  return first.substr(0, random.below(first.size() + 1)) +
         second.substr(random.below(second.size() + 1));
}

}  // namespace

std::string mutate(const std::vector<std::string>& seeds, const Format* format, Random& random) {
  const std::string& seed = random.pick(seeds);
  const std::string& other = random.pick(seeds);
  std::string mutant = seed;
  const std::size_t way = random.below(100);
  if (format != nullptr && way < 65)
    mutant = edit(seed, other, *format, random);
  else if (way < 75)
    mutant = splice(seed, other, random);
  if (format == nullptr || way >= 65 || random.chance(15))
    mutate_bytes(mutant, random, format != nullptr ? format->tokens : Tokens{});
  if (mutant.size() > kMaxMutant) mutant.resize(kMaxMutant);
  return mutant;
}

}  // namespace ttt::fuzz
