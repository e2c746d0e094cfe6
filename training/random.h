// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ttt::training {

/// A random generator (SplitMix64) whose numbers are the same on every platform and compiler,
/// unlike the distributions of the standard library. Cheap to seed, so that every sample of every
/// epoch gets its own.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  /// In [0, 1), 53 random bits.
  double uniform();
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// An integer in [0, bound); bound must be positive.
  std::int64_t below(std::int64_t bound);
  bool chance(double probability) { return uniform() < probability; }
  /// Mean 0, standard deviation 1.
  double normal();
  /// Beta distribution with both shape parameters positive.
  double beta(double alpha, double beta);

 private:
  double gamma(double shape);

  std::uint64_t state_;
};

}  // namespace ttt::training
