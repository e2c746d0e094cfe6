// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace ttt::fuzz {

/// What a reader may take for one input.
struct Bounds {
  std::uint64_t memory = 0;  ///< bytes held at once
  double seconds = 2;        ///< of processor time
};

struct Usage {
  std::uint64_t peak = 0;  ///< bytes held at once
  std::int64_t kept = 0;   ///< bytes still held
  double seconds = 0;      ///< of processor time
};

/// Watches the heap and the clock from here on. `report` is called when a bound is passed and when
/// a sanitizer ends the process; it may be in the middle of an allocation or a signal. The process
/// ends then. Call once.
void start_watch(void (*report)());
/// What the next reader may take, until its end_bounds().
void begin_bounds(const Bounds& bounds);
Usage end_bounds();

}  // namespace ttt::fuzz
