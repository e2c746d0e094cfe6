// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "training/random.h"

#include <cmath>
#include <numbers>

namespace ttt::training {

std::uint64_t Random::next() {
  state_ += 0x9E3779B97F4A7C15ULL;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

double Random::uniform() {
  return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

std::int64_t Random::below(std::int64_t bound) {
  // The bias of the multiplication is bound / 2^53, far below what any test could see.
  return static_cast<std::int64_t>(uniform() * static_cast<double>(bound));
}

double Random::normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

// Marsaglia and Tsang, "A simple method for generating gamma variables", 2000; shapes below 1 by
// the identity gamma(a) = gamma(a + 1) * U^(1/a).
double Random::gamma(double shape) {
  if (shape < 1.0) {
    const double boosted = gamma(shape + 1.0);
    return boosted * std::pow(1.0 - uniform(), 1.0 / shape);
  }
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  for (;;) {
    const double x = normal();
    const double v = std::pow(1.0 + c * x, 3);
    if (v <= 0.0) continue;
    const double u = 1.0 - uniform();
    if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

double Random::beta(double alpha, double beta) {
  const double a = gamma(alpha);
  const double b = gamma(beta);
  return a / (a + b);
}

}  // namespace ttt::training
