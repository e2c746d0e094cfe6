// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "training/data_order.h"

#include "core/seed.h"
#include "training/random.h"

#include <spdlog/fmt/fmt.h>

#include <numeric>
#include <utility>

namespace ttt::training {

std::vector<std::int64_t> epoch_order(std::int64_t size, std::uint64_t seed, std::int64_t epoch) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0);
  Random random(derive_seed(seed, fmt::format("order/{}", epoch)));
  for (std::int64_t i = size - 1; i > 0; --i)
    std::swap(order[static_cast<std::size_t>(i)],
              order[static_cast<std::size_t>(random.below(i + 1))]);
  return order;
}

std::uint64_t sample_seed(std::uint64_t seed, std::int64_t epoch, std::int64_t index) {
  return derive_seed(seed, fmt::format("sample/{}/{}", epoch, index));
}

std::uint64_t step_seed(std::uint64_t seed, const char* purpose, std::int64_t step) {
  return derive_seed(seed, fmt::format("{}/{}", purpose, step));
}

}  // namespace ttt::training
