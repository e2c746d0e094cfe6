// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/standalone.h"

#include <algorithm>
#include <cmath>

namespace ttt::test {

std::vector<float> made_up(std::string_view name, std::size_t count, DataType type, float scale) {
  std::uint32_t hash = 2166136261U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t h = static_cast<std::uint32_t>(i) + hash;
    h = (h ^ h >> 16) * 0x85EBCA6BU;
    h = (h ^ h >> 13) * 0xC2B2AE35U;
    h ^= h >> 16;
    values[i] = scale * static_cast<float>(2.0 * h / 4294967296.0 - 1.0);
  }
  return decode(encode(values, type), type);
}

void expect_close(const std::vector<float>& actual, const std::vector<double>& expected,
                  double tolerance, std::string_view what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  double largest = 0, error = 0;
  std::size_t worst = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_TRUE(std::isfinite(actual[i])) << what << ", element " << i << " is " << actual[i];
    largest = std::max(largest, std::abs(expected[i]));
    const double difference = std::abs(actual[i] - expected[i]);
    if (difference > error) {
      error = difference;
      worst = i;
    }
  }
  if (actual.empty()) return;
  EXPECT_LE(error, tolerance * largest) << what << ", element " << worst << ": " << actual[worst]
                                        << " instead of " << expected[worst];
}

double tolerance(DataType type) {
  return type == DataType::bfloat16 ? 1.0 / 128 : 4e-6;
}

}  // namespace ttt::test
