// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace ttt::cli {

struct MeasureOptions {
  std::int64_t warm_up = 3;
  std::int64_t repetitions = 10;
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

/// What the process held at most between two points in time.
class PeakMemory {
 public:
  /// Gives free memory back to the system and starts to watch.
  PeakMemory();
  /// Bytes at the peak so far; nothing where the system doesn't tell.
  std::optional<std::int64_t> peak() const;
  /// The same without what was held at the start.
  std::optional<std::int64_t> above_start() const;

 private:
  std::optional<std::int64_t> start_;
};

}  // namespace ttt::cli
