// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/measure.h"

#include "core/cancel.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace ttt::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kShortestSample = 5e-3;  ///< seconds
constexpr std::int64_t kMostPasses = 1000;

double time_passes(const std::function<void()>& pass, std::int64_t count) {
  const Clock::time_point start = Clock::now();
  for (std::int64_t i = 0; i < count; ++i) pass();
  return std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(count);
}

}  // namespace

double Samples::quantile(double part) const {
  if (seconds.empty()) return std::numeric_limits<double>::quiet_NaN();
  const double place = part * static_cast<double>(seconds.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, seconds.size() - 1);
  return seconds[below] + (place - std::floor(place)) * (seconds[above] - seconds[below]);
}

Samples measure(const std::function<void()>& pass, const MeasureOptions& options) {
  const std::int64_t warm_up =
      options.warm_up > 0 ? std::max(options.warm_up, options.first_passes) : 0;
  for (std::int64_t i = 0; i < warm_up && !cancel_requested(); ++i) pass();
  Samples samples;
  // Without a warm-up the first pass is part of what is asked for, so nothing may run before it.
  if (warm_up > 0) {
    const double one = std::max(time_passes(pass, 1), 1e-9);
    samples.passes =
        std::clamp(static_cast<std::int64_t>(kShortestSample / one), std::int64_t{1}, kMostPasses);
  }
  for (std::int64_t i = 0; i < options.repetitions && !cancel_requested(); ++i)
    samples.seconds.push_back(time_passes(pass, samples.passes));
  std::sort(samples.seconds.begin(), samples.seconds.end());
  return samples;
}

}  // namespace ttt::cli
