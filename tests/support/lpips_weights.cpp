// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/lpips_weights.h"

#include "tests/support/fill.h"

#include <ATen/ATen.h>
#include <spdlog/fmt/fmt.h>

#include <cmath>

namespace ttt::test {
namespace {

constexpr std::int64_t kTop[] = {64, 128, 256, 512, 512};

}  // namespace

std::vector<NamedTensor> lpips_trunk() {
  std::vector<NamedTensor> result;
  // The convolutions' numbers in torchvision's list, by slice.
  const std::vector<std::vector<int>> numbers{
      {0, 2}, {5, 7}, {10, 12, 14}, {17, 19, 21}, {24, 26, 28}};
  std::int64_t in = 3;
  for (std::size_t slice = 0; slice < numbers.size(); ++slice)
    for (const int number : numbers[slice]) {
      const std::string name = fmt::format("net.slice{}.{}", slice + 1, number);
      const double factor = std::sqrt(6.0 / static_cast<double>(9 * in));
      result.push_back(
          {name + ".weight", test::fill(name + ".weight", {kTop[slice], in, 3, 3}, factor)});
      result.push_back({name + ".bias", test::fill(name + ".bias", {kTop[slice]}, 0.1)});
      in = kTop[slice];
    }
  return result;
}

std::vector<NamedTensor> lpips_top() {
  std::vector<NamedTensor> result;
  for (std::size_t i = 0; i < std::size(kTop); ++i) {
    const std::string name = fmt::format("lin{}.model.1.weight", i);
    result.push_back({name, test::fill(name, {1, kTop[i], 1, 1}).abs()});
  }
  return result;
}

std::vector<NamedTensor> as_torchvision(const std::vector<NamedTensor>& trunk) {
  std::vector<NamedTensor> result;
  for (const NamedTensor& item : trunk) {
    const std::size_t number = item.name.find('.', item.name.find('.') + 1) + 1;
    result.push_back({fmt::format("features.{}", item.name.substr(number)), item.tensor});
  }
  result.push_back({"classifier.0.weight", at::ones({2, 3})});
  result.push_back({"classifier.6.bias", at::ones({2})});
  return result;
}

void write_lpips_weights(const std::filesystem::path& path) {
  std::vector<NamedTensor> all = lpips_trunk();
  for (NamedTensor& item : lpips_top()) all.push_back(std::move(item));
  write_safetensors(path, all);
}

}  // namespace ttt::test
