// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear/cpu_kernel.h"

#include "kernels/support/simd_gelu.h"
#include "kernels/support/simd_transpose.h"

namespace ttt::ops::TTT_ISA {
namespace {

constexpr float kTanhFactor = 0.79788456F;  // sqrt(2 / pi)
constexpr float kTanhCubic = 0.044715F;

/// (1 + tanh(y)) / 2 = sigmoid(2 y) with the argument of the approximate GELU
TTT_INLINE Float tanh_gate(Float z) {
  return sigmoid(2.0F * kTanhFactor * (z + kTanhCubic * z * z * z));
}

/// For results of type T.
template <LinearActivation kActivation, typename T>
TTT_INLINE Float activate(Float z) {
  if constexpr (kActivation == LinearActivation::relu) return z < 0.0F ? Float{} : z;  // keeps NaN
  if constexpr (kActivation == LinearActivation::gelu) return gelu_as<T>(z);
  if constexpr (kActivation == LinearActivation::gelu_tanh) return z * tanh_gate(z);
  if constexpr (kActivation == LinearActivation::silu) return z * sigmoid(z);
  return z;
}

template <LinearActivation kActivation>
TTT_INLINE Float activation_slope(Float z) {
  const Float one = broadcast(1.0F);
  if constexpr (kActivation == LinearActivation::relu) return z <= 0.0F ? Float{} : one;
  if constexpr (kActivation == LinearActivation::gelu) return gelu_slope(z);
  if constexpr (kActivation == LinearActivation::gelu_tanh) {
    const Float s = tanh_gate(z);
    return s + z * s * (1.0F - s) * (2.0F * kTanhFactor) * (1.0F + 3.0F * kTanhCubic * z * z);
  }
  if constexpr (kActivation == LinearActivation::silu) {
    const Float s = sigmoid(z);
    return s * (1.0F + z * (1.0F - s));
  }
  return one;
}

/// Calls f<activation>().
template <typename F>
TTT_INLINE void with_activation(LinearActivation activation, const F& f) {
  switch (activation) {
    case LinearActivation::relu:
      return f.template operator()<LinearActivation::relu>();
    case LinearActivation::gelu:
      return f.template operator()<LinearActivation::gelu>();
    case LinearActivation::gelu_tanh:
      return f.template operator()<LinearActivation::gelu_tanh>();
    case LinearActivation::silu:
      return f.template operator()<LinearActivation::silu>();
    case LinearActivation::none:
      return f.template operator()<LinearActivation::none>();
  }
}

/// Elements from (row, column) on.
TTT_INLINE Float read(const LinearMatrix& m, std::int64_t row, std::int64_t column,
                      std::int64_t count) {
  const std::int64_t place = row * m.stride + column;
  if (m.bf16) return load_up_to(static_cast<const Bf16*>(m.data) + place, count);
  return load_up_to(static_cast<const float*>(m.data) + place, count);
}
TTT_INLINE void write(const LinearMatrix& m, std::int64_t row, std::int64_t column, Float x,
                      std::int64_t count) {
  const std::int64_t place = row * m.stride + column;
  if (m.bf16) {
    store_up_to(static_cast<Bf16*>(m.data) + place, x, count);
  } else {
    store_up_to(static_cast<float*>(m.data) + place, x, count);
  }
}

/// T is the type of the result and of the residual. By value: what is in registers can't be changed
/// by the stores, so that questions about it leave the loops.
template <LinearActivation kActivation, typename T, bool kResidual>
void finish_as(LinearTile t) {
  for (std::int64_t row = 0; row < t.rows; ++row) {
    const float* const sums = t.sums + row * t.sums_stride;
    const T* const residual = static_cast<const T*>(t.residual.data) + row * t.residual.stride;
    T* const out = static_cast<T*>(t.out.data) + row * t.out.stride;
    for (std::int64_t c = 0; c < t.columns; c += kLanes) {
      const std::int64_t count = t.columns - c;
      Float z = load_up_to(sums + c, count);
      if (t.bias != nullptr) z += load_up_to(t.bias + c, count);
      if (t.before.data != nullptr) write(t.before, row, c, z, count);
      z = activate<kActivation, T>(z);
      if constexpr (kResidual) z += load_up_to(residual + c, count);
      store_up_to(out + c, z, count);
    }
  }
}

template <LinearActivation kActivation, typename T>
void finish_typed(const LinearTile& t) {
  if (t.residual.data != nullptr) {
    finish_as<kActivation, T, true>(t);
  } else {
    finish_as<kActivation, T, false>(t);
  }
}

void finish(const LinearTile& tile) {
  with_activation(tile.activation, [&]<LinearActivation kActivation>() {
    if (tile.out.bf16) {
      finish_typed<kActivation, Bf16>(tile);
    } else {
      finish_typed<kActivation, float>(tile);
    }
  });
}

template <LinearActivation kActivation>
void slope_with(LinearSlope s) {
  for (std::int64_t row = 0; row < s.rows; ++row)
    for (std::int64_t c = 0; c < s.columns; c += kLanes) {
      const std::int64_t count = s.columns - c;
      Float d = read(s.dout, row, c, count);
      if constexpr (kActivation != LinearActivation::none)
        d *= activation_slope<kActivation>(read(s.before, row, c, count));
      write(s.out, row, c, d, count);
    }
}

template <LinearActivation kActivation>
void finish_hidden_with(HiddenTile t) {
  for (std::int64_t row = 0; row < t.rows; ++row)
    for (std::int64_t c = 0; c < t.columns; c += kLanes) {
      const std::int64_t count = t.columns - c;
      const Float z = read(t.before, row, c, count);
      const Float d = load_up_to(t.sums + row * t.sums_stride + c, count);
      const Float value =
          t.values.bf16 ? activate<kActivation, Bf16>(z) : activate<kActivation, float>(z);
      write(t.values, row, c, value, count);
      write(t.gradient, row, c, d * activation_slope<kActivation>(z), count);
    }
}

void finish_hidden(const HiddenTile& tile) {
  with_activation(tile.activation,
                  [&]<LinearActivation kActivation>() { finish_hidden_with<kActivation>(tile); });
}

void slope(const LinearSlope& arguments) {
  with_activation(arguments.activation,
                  [&]<LinearActivation kActivation>() { slope_with<kActivation>(arguments); });
}

/// The first `count` lanes, zeros behind them.
TTT_INLINE Float keep_first(Float x, std::int64_t count) {
  Int lane;
  for (int i = 0; i < kLanes; ++i) lane[i] = i;
  return lane < Int{} + static_cast<std::int32_t>(count) ? x : Float{};
}

template <int kStep = kLanes / 2>
TTT_INLINE float sum_of_lanes(Float x) {
  if constexpr (kStep == 0) {
    return x[0];
  } else {
    Int partner;
    for (int i = 0; i < kLanes; ++i) partner[i] = i ^ kStep;
    return sum_of_lanes<kStep / 2>(x + __builtin_shuffle(x, partner));
  }
}

/// The sum of f(x) over a row.
template <typename T, typename F>
TTT_INLINE float sum_over(const T* x, std::int64_t columns, const F& f) {
  Float sums[2] = {};  // one doesn't wait for the other
  std::int64_t c = 0;
  for (; c + 2 * kLanes <= columns; c += 2 * kLanes) {
    sums[0] += f(load(x + c));
    sums[1] += f(load(x + c + kLanes));
  }
  for (; c + kLanes <= columns; c += kLanes) sums[0] += f(load(x + c));
  if (c < columns) sums[1] += keep_first(f(load_first(x + c, columns - c)), columns - c);
  return sum_of_lanes(sums[0] + sums[1]);
}

template <typename In, typename Out>
void normalise_as(const LinearNormTile& t) {
  const float share = 1.0F / static_cast<float>(t.columns);
  for (std::int64_t row = 0; row < t.rows; ++row) {
    const In* const in = static_cast<const In*>(t.x.data) + row * t.x.stride;
    Out* const out = static_cast<Out*>(t.out.data) + row * t.out.stride;
    const float mean = sum_over(in, t.columns, [](Float x) TTT_LAMBDA_INLINE { return x; }) * share;
    const float variance =
        sum_over(in, t.columns,
                 [mean](Float x) TTT_LAMBDA_INLINE { return (x - mean) * (x - mean); }) *
        share;
    const Float factor = 1.0F / square_root(broadcast(variance + t.epsilon));
    for (std::int64_t c = 0; c < t.columns; c += kLanes) {
      const std::int64_t count = t.columns - c;
      Float x = (load_up_to(in + c, count) - mean) * factor * load_up_to(t.weight + c, count);
      if (t.bias != nullptr) x += load_up_to(t.bias + c, count);
      store_up_to(out + c, x, count);
    }
    if (t.columns % 2 != 0) store_up_to(out + t.columns, Float{}, 1);
  }
}

void normalise(const LinearNormTile& t) {
  if (t.x.bf16) return t.out.bf16 ? normalise_as<Bf16, Bf16>(t) : normalise_as<Bf16, float>(t);
  return t.out.bf16 ? normalise_as<float, Bf16>(t) : normalise_as<float, float>(t);
}

/// Adds the sums of V vectors of columns, or of the first `count` columns of one.
template <int V>
TTT_INLINE void sum_columns(const LinearMatrix& matrix, std::int64_t rows, std::int64_t column,
                            std::int64_t count, float* sums) {
  constexpr std::int64_t kRun = 128;  // sums of sums lose less
  Float total[V]{};
  for (std::int64_t first = 0; first < rows; first += kRun) {
    Float part[V]{};
    const std::int64_t end = rows - first < kRun ? rows : first + kRun;
    for (std::int64_t row = first; row < end; ++row)
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v)
        part[v] += read(matrix, row, column + v * kLanes, V > 1 ? kLanes : count);
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) total[v] += part[v];
  }
#pragma GCC unroll 4
  for (int v = 0; v < V; ++v) {
    float* const to = sums + column + v * kLanes;
    const std::int64_t here = V > 1 ? kLanes : count;
    store_up_to(to, load_up_to(to, here) + total[v], here);
  }
}

void add_column_sums(const LinearMatrix& matrix, std::int64_t rows, std::int64_t columns,
                     float* sums) {
  constexpr int kVectors = 4;  // whole lines of memory
  std::int64_t c = 0;
  for (; c + kVectors * kLanes <= columns; c += kVectors * kLanes)
    sum_columns<kVectors>(matrix, rows, c, kLanes, sums);
  for (; c < columns; c += kLanes) sum_columns<1>(matrix, rows, c, columns - c, sums);
}

void write_transposed(const LinearTurnedTile& t) {
  for (std::int64_t c = 0; c < t.columns; c += kLanes)
    for (std::int64_t r = 0; r < t.rows; r += kLanes) {
      Float square[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i)
        square[i] = r + i < t.rows ? load_up_to(t.sums + (r + i) * t.sums_stride + c, t.columns - c)
                                   : Float{};
      transpose_steps<1>(square);
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) {
        if (c + i >= t.columns) break;
        float* to = t.out + (c + i) * t.out_stride + r;
        if (t.add) square[i] += load_up_to(to, t.rows - r);
        store_up_to(to, square[i], t.rows - r);
      }
    }
}

}  // namespace

extern const LinearKernels linear_kernels;
const LinearKernels linear_kernels{finish,          slope,         normalise,
                                   add_column_sums, finish_hidden, write_transposed};

}  // namespace ttt::ops::TTT_ISA
