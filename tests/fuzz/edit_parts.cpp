// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/mutate.h"

#include <algorithm>

namespace ttt::fuzz {
namespace {

using Difference = Parts::difference_type;

constexpr std::size_t kMaxParts = 1 << 16;

std::size_t total_size(const Parts& parts) {
  std::size_t size = 0;
  for (const Part& part : parts) size += part.head.size() + part.body.size() + 1;
  return size;
}

void mutate_part(Part& part, const Format& format, Random& random) {
  const Format* inner = format.inner != nullptr ? format.inner(part) : nullptr;
  if (inner != nullptr && random.chance(80)) {
    Parts parts = inner->split(part.body, random);
    edit_parts(parts, parts, *inner, random);
    part.body = inner->join(parts, random);
  } else if (format.vary != nullptr && random.chance(60)) {
    format.vary(part, random);
  } else if (random.chance(20)) {
    mutate_bytes(part.head, random, format.tokens);
  } else {
    mutate_bytes(part.body, random, format.tokens);
  }
}

/// Rather one that has parts itself, and not one without content.
std::size_t choose_part(const Parts& parts, const Format& format, Random& random) {
  if (format.inner != nullptr && random.chance(50))
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (format.inner(parts[i]) != nullptr) return i;
  std::size_t at = 0;
  for (int i = 0; i < 5; ++i) {
    at = random.below(parts.size());
    if (!parts[at].body.empty()) break;
  }
  return at;
}

/// Puts a stretch of parts, once or many times, somewhere.
void insert_stretch(Parts& parts, const Parts& from, Random& random) {
  const std::size_t begin = random.below(from.size());
  const std::size_t count = 1 + random.mostly_small(from.size() - begin);
  const Parts stretch(from.begin() + static_cast<Difference>(begin),
                      from.begin() + static_cast<Difference>(std::min(begin + count, from.size())));
  std::size_t times = random.chance(92) ? 1 : 1 + random.mostly_small(5000);
  times = std::min({times, kMaxMutant / total_size(stretch), kMaxParts / stretch.size()});
  Parts all;
  for (std::size_t i = 0; i < times; ++i) all.insert(all.end(), stretch.begin(), stretch.end());
  parts.insert(parts.begin() + static_cast<Difference>(random.below(parts.size() + 1)), all.begin(),
               all.end());
}

void edit_once(Parts& parts, const Parts& other, const Format& format, Random& random) {
  if (parts.empty()) parts.emplace_back();
  const std::size_t at = random.below(parts.size());
  const auto where = parts.begin() + static_cast<Difference>(at);
  switch (random.below(12)) {
    case 0: {
      const std::size_t count =
          std::min<std::size_t>(1 + random.mostly_small(8), parts.size() - at);
      parts.erase(where, where + static_cast<Difference>(count));
      return;
    }
    case 1:
      return insert_stretch(parts, Parts(parts), random);
    case 2:
      if (!other.empty()) insert_stretch(parts, other, random);
      return;
    case 3:
      return std::swap(parts[at], parts[random.below(parts.size())]);
    case 4:
      if (format.make != nullptr) parts.insert(where, format.make(random));
      return;
    case 5:
      if (format.make != nullptr) parts[at] = format.make(random);
      return;
    default:
      return mutate_part(parts[choose_part(parts, format, random)], format, random);
  }
}

}  // namespace

void edit_parts(Parts& parts, const Parts& other, const Format& format, Random& random) {
  for (std::size_t i = random.chance(50) ? 1 : 1 + random.mostly_small(6); i > 0; --i)
    edit_once(parts, other, format, random);
}

}  // namespace ttt::fuzz
