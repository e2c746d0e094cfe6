// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/nearest.h"

#include <algorithm>
#include <vector>

namespace ttt {
namespace {

/// Longer words are not worth the quadratic time, and nobody mistypes one of our names that way.
constexpr std::size_t kLongestWord = 64;

bool shares_part(std::string_view word, std::string_view candidate) {
  for (std::size_t begin = 0; begin < word.size();) {
    const std::size_t end = std::min(word.find('-', begin), word.size());
    const std::string_view part = word.substr(begin, end - begin);
    if (part.size() >= 3 && part == candidate) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::vector<int>> rows(a.size() + 1, std::vector<int>(width));
  for (std::size_t i = 0; i <= a.size(); ++i) rows[i][0] = static_cast<int>(i);
  for (std::size_t j = 0; j < width; ++j) rows[0][j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j < width; ++j) {
      const int replaced = rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      rows[i][j] = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[a.size()][b.size()];
}

std::string nearest_name(std::string_view word, std::span<const std::string> candidates) {
  if (word.empty() || word.size() > kLongestWord) return {};
  const int limit = std::max(1, static_cast<int>(word.size()) / 3);
  int best_distance = limit + 1;
  std::string best;
  for (const std::string& candidate : candidates) {
    const int distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  if (!best.empty()) return best;
  for (const std::string& candidate : candidates) {
    const bool begins = word.size() >= 3 && candidate.starts_with(word);
    const bool goes_on = candidate.size() >= 3 && word.starts_with(candidate);
    if (begins || goes_on || shares_part(word, candidate)) return candidate;
  }
  return {};
}

}  // namespace ttt
