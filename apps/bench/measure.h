// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace ttt::cli {

struct MeasureOptions {
  std::int64_t warm_up = 3;
  std::int64_t repetitions = 10;
  /// Passes that take longer than all later ones; a warm-up covers them, however short it is.
  std::int64_t first_passes = 0;
};

/// Times of one pass, in seconds, ascending.
struct Samples {
  std::vector<double> seconds;
  std::int64_t passes = 1;  ///< per sample
  /// The value below which this part of the samples lies, interpolated; 0.5 is the median. NaN
  /// without samples.
  double quantile(double part) const;
};

/// Runs and times passes. A sample of a short pass is the mean of several, so that the clock and
/// one interruption don't decide. Stops early when the user interrupts.
Samples measure(const std::function<void()>& pass, const MeasureOptions& options);

}  // namespace ttt::cli
