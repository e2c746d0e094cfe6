// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Rotation of whole pairs of channels, for the files that are compiled once per instruction set.

#include "kernels/support/simd.h"

namespace ttt::ops::TTT_ISA {

/// Exchanges the two elements of every pair.
TTT_INLINE Float swap_pairs(Float x) {
  Int order;
  for (int i = 0; i < kLanes; ++i) order[i] = i ^ 1;
  return __builtin_shuffle(x, order);
}

/// Pairs turned by factors laid out as in RopeRow, between types of activations: what is wider is
/// rounded as the narrower one would be, so that rotation while reading or writing gives the same
/// numbers as a rotated tensor.
template <typename From, typename To>
TTT_INLINE Float rotated(Float x, Float cosine, Float sine) {
  if constexpr (sizeof(From) > sizeof(To)) x = widen(narrow(x));
  const Float turned = x * cosine + swap_pairs(x) * sine;
  if constexpr (sizeof(From) < sizeof(To)) return widen(narrow(turned));
  return turned;
}

/// The same for `count` channels.
template <typename From, typename To>
TTT_INLINE void rotate(const From* x, const float* cosine, const float* sine, std::int64_t count,
                       To* out) {
  std::int64_t c = 0;
  for (; c + kLanes <= count; c += kLanes)
    store(out + c, rotated<From, To>(load(x + c), load(cosine + c), load(sine + c)));
  if (c == count) return;
  const std::int64_t rest = count - c;
  store_first(out + c,
              rotated<From, To>(load_first(x + c, rest), load_first(cosine + c, rest),
                                load_first(sine + c, rest)),
              rest);
}

}  // namespace ttt::ops::TTT_ISA
