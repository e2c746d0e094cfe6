// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fill.h"

#include <ATen/ATen.h>

#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>

namespace ttt::test {
namespace {

at::Tensor fill_with(std::string_view name, at::IntArrayRef shape,
                     const std::function<double(double)>& rule) {
  at::Tensor tensor = at::empty(shape);
  float* data = tensor.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < tensor.numel(); ++i)
    data[i] = static_cast<float>(rule(fill_value(name, i)));
  return tensor;
}

}  // namespace

double fill_value(std::string_view name, std::int64_t index) {
  std::uint32_t hash = 0x811C9DC5U;
  for (const char c : name) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x01000193U;
  hash += static_cast<std::uint32_t>(index);
  hash = (hash ^ (hash >> 16)) * 0x85EBCA6BU;
  hash = (hash ^ (hash >> 13)) * 0xC2B2AE35U;
  hash ^= hash >> 16;
  return 2.0 * static_cast<double>(hash) / 4294967296.0 - 1.0;
}

at::Tensor fill(std::string_view name, at::IntArrayRef shape, double factor) {
  return fill_with(name, shape, [factor](double u) { return factor * u; });
}

at::Tensor fill_weight(std::string_view name, at::IntArrayRef shape) {
  const std::string_view leaf = name.substr(name.rfind('.') + 1);
  if (leaf == "running_var") return fill_with(name, shape, [](double u) { return 1 + 0.5 * u; });
  if (leaf == "running_mean" || leaf == "bias") return fill(name, shape, 0.1);
  if (leaf == "w1" || leaf == "w2" || leaf == "w3") return fill(name, shape, 0.5);
  if (leaf != "weight") throw std::invalid_argument("no fill rule for " + std::string(name));
  if (shape.size() == 1) return fill_with(name, shape, [](double u) { return 1 + 0.2 * u; });
  if (name.ends_with("embedding_table.weight")) return fill(name, shape, 0.5);
  std::int64_t fan_in = 1;
  for (const std::int64_t size : shape.slice(1)) fan_in *= size;
  return fill(name, shape, std::sqrt(3.0 / static_cast<double>(fan_in)));
}

}  // namespace ttt::test
