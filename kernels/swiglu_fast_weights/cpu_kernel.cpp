// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/swiglu_fast_weights/cpu_kernel.h"

#include "kernels/support/simd.h"

namespace ttt::ops::TTT_ISA {
namespace {

constexpr std::int64_t kPanel = 64;

/// silu(a) and its first two derivatives.
struct Silu {
  Float value, slope, curvature;
};

TTT_INLINE Silu silu_of(Float a) {
  const Float s = sigmoid(a), rest = 1.0F - s;
  return {a * s, s * (1.0F + a * rest), s * rest * (2.0F + a * (1.0F - 2.0F * s))};
}

template <typename T>
void gate_as(const float* a, const float* c, std::int64_t count, T* out) {
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const Float gate = load_up_to(a + i, count - i);
    store_up_to(out + i, gate * sigmoid(gate) * load_up_to(c + i, count - i), count - i);
  }
}

void gate(const float* a, const float* c, std::int64_t rows, std::int64_t width, void* out,
          bool out_bf16) {
  if (out_bf16) {
    gate_as(a, c, rows * width, static_cast<Bf16*>(out));
  } else {
    gate_as(a, c, rows * width, static_cast<float*>(out));
  }
}

/// Writes elements c.. of the rows t and t + 1 (when there is one) of a right factor.
TTT_INLINE void put_right(float* out, std::int64_t t, std::int64_t c, Float even, Float odd,
                          bool has_odd) {
  store(out + t * kPanel + c, even);
  if (has_odd) store(out + (t + 1) * kPanel + c, odd);
}
TTT_INLINE void put_right(Bf16* out, std::int64_t t, std::int64_t c, Float even, Float odd, bool) {
  store(reinterpret_cast<float*>(out + t * kPanel + 2 * c), paired(narrow(even), narrow(odd)));
}

/// The same of a left factor.
template <typename T>
TTT_INLINE void put_left(T* out, std::int64_t t, std::int64_t c, Float even, Float odd,
                         bool has_odd) {
  store(out + t * kPanel + c, even);
  if (has_odd) store(out + (t + 1) * kPanel + c, odd);
}

template <typename T>
TTT_INLINE void put_both(void* right, void* left, std::int64_t t, std::int64_t c, Float even,
                         Float odd, bool has_odd) {
  put_right(static_cast<T*>(right), t, c, even, odd, has_odd);
  if (left != nullptr && left != right) put_left(static_cast<T*>(left), t, c, even, odd, has_odd);
}

TTT_INLINE float rate_of(const float* rates, std::int64_t t) {
  return rates != nullptr ? rates[t] : 1.0F;
}

/// What the gate makes of one vector of a row.
struct GradientValues {
  Float a, c, y;
};

TTT_INLINE GradientValues gradient_values(const SwigluPanel& p, std::int64_t t, std::int64_t i) {
  const std::int64_t at = t * kPanel + i;
  const Float c = load(p.c + at), r = load(p.r + at);
  const Silu u = silu_of(load(p.a + at));
  return {r * c * u.slope * rate_of(p.rates[0], t), r * u.value * rate_of(p.rates[2], t),
          u.value * c * rate_of(p.rates[1], t)};
}

template <typename T>
void gradient_as(const SwigluPanel& p) {
  for (std::int64_t t = 0; t < p.rows; t += 2) {
    const bool has_odd = t + 1 < p.rows;
    for (std::int64_t i = 0; i < kPanel; i += kLanes) {
      const GradientValues even = gradient_values(p, t, i);
      const GradientValues odd = has_odd ? gradient_values(p, t + 1, i) : GradientValues{};
      put_both<T>(p.right_a, p.left_a, t, i, even.a, odd.a, has_odd);
      put_both<T>(p.right_c, p.left_c, t, i, even.c, odd.c, has_odd);
      put_left(static_cast<T*>(p.left_y), t, i, even.y, odd.y, has_odd);
    }
  }
}

void gradient(const SwigluPanel& panel) {
  if (panel.bf16) {
    gradient_as<Bf16>(panel);
  } else {
    gradient_as<float>(panel);
  }
}

struct BackwardValues {
  Float da, dc, dr;
  Float left_p0, left_p1, left_p2;
  Float rate0, rate1, rate2;  // terms of the rates' gradients
};

TTT_INLINE BackwardValues backward_values(const SwigluPanel& p, std::int64_t t, std::int64_t i) {
  const std::int64_t at = t * kPanel + i;
  const Float c = load(p.c + at), r = load(p.r + at);
  const Float p0 = load(p.p0 + at), p1 = load(p.p1 + at), p2 = load(p.p2 + at);
  const Silu u = silu_of(load(p.a + at));
  const float eta0 = p.rates[0][t], eta1 = p.rates[1][t], eta2 = p.rates[2][t];
  const Float ra = r * c * u.slope, rc = r * u.value, hidden = u.value * c;
  BackwardValues out;
  out.da = eta0 * p0 * r * c * u.curvature + eta1 * p1 * c * u.slope + eta2 * p2 * r * u.slope;
  out.dc = eta0 * p0 * r * u.slope + eta1 * p1 * u.value;
  out.dr = eta0 * p0 * c * u.slope + eta2 * p2 * u.value;
  out.left_p0 = eta0 * ra;
  out.left_p1 = eta1 * hidden;
  out.left_p2 = eta2 * rc;
  out.rate0 = p0 * ra;
  out.rate1 = p1 * hidden;
  out.rate2 = p2 * rc;
  return out;
}

TTT_INLINE float lanes_total(Float x) {
  float total = 0;
  for (int i = 0; i < kLanes; ++i) total += x[i];
  return total;
}

struct RateSums {
  Float sums[3] = {};

  TTT_INLINE void add(RateSums& to, const BackwardValues& values) {
    to.sums[0] += values.rate0;
    to.sums[1] += values.rate1;
    to.sums[2] += values.rate2;
  }
  TTT_INLINE void store_to(const RateSums& from, const SwigluPanel& p, std::int64_t t) {
    for (int i = 0; i < 3; ++i) p.drates[i][t] += lanes_total(from.sums[i]);
  }
};

template <typename T>
void gradient_backward_as(const SwigluPanel& p) {
  for (std::int64_t t = 0; t < p.rows; t += 2) {
    const bool has_odd = t + 1 < p.rows;
    RateSums even_sums, odd_sums;
    for (std::int64_t i = 0; i < kPanel; i += kLanes) {
      const BackwardValues even = backward_values(p, t, i);
      const BackwardValues odd = has_odd ? backward_values(p, t + 1, i) : BackwardValues{};
      put_both<T>(p.right_a, p.left_a, t, i, even.da, odd.da, has_odd);
      put_both<T>(p.right_c, p.left_c, t, i, even.dc, odd.dc, has_odd);
      put_left(static_cast<T*>(p.left_y), t, i, even.dr, odd.dr, has_odd);
      put_left(static_cast<T*>(p.left_p0), t, i, even.left_p0, odd.left_p0, has_odd);
      put_left(static_cast<T*>(p.left_p1), t, i, even.left_p1, odd.left_p1, has_odd);
      put_left(static_cast<T*>(p.left_p2), t, i, even.left_p2, odd.left_p2, has_odd);
      RateSums::add(even_sums, even);
      RateSums::add(odd_sums, odd);
    }
    RateSums::store_to(even_sums, p, t);
    if (has_odd) RateSums::store_to(odd_sums, p, t + 1);
  }
}

void gradient_backward(const SwigluPanel& panel) {
  if (panel.bf16) {
    gradient_backward_as<Bf16>(panel);
  } else {
    gradient_backward_as<float>(panel);
  }
}

}  // namespace

extern const SwigluKernels swiglu_kernels;
const SwigluKernels swiglu_kernels{gate, gradient, gradient_backward};

}  // namespace ttt::ops::TTT_ISA
