// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/depthwise_conv3x3/cpu_kernel.h"

#include "kernels/support/simd_gelu.h"

namespace ttt::ops::TTT_ISA {
namespace {

// Outputs of a row that share the loads of their taps and inputs.
constexpr int kBlock = kLanes == 16 ? 7 : 4;  // there are 32 registers of 16 lanes, else 16

/// Twice as many channels, the even and the odd ones: pairs of bfloat16 are widened and rounded in
/// fewer instructions than two vectors of neighbours.
struct Pair {
  Float even, odd;
};

TTT_INLINE Pair operator+(Pair a, Pair b) {
  return {a.even + b.even, a.odd + b.odd};
}
TTT_INLINE Pair operator*(Pair a, Pair b) {
  return {a.even * b.even, a.odd * b.odd};
}
TTT_INLINE Pair load_pair(const float* p) {
  Int even, odd;
  for (int i = 0; i < kLanes; ++i) {
    even[i] = 2 * i;
    odd[i] = 2 * i + 1;
  }
  const Float first = load(p), second = load(p + kLanes);
  return {__builtin_shuffle(first, second, even), __builtin_shuffle(first, second, odd)};
}
TTT_INLINE Pair load_pair(const Bf16* p) {
  const UInt bits = *reinterpret_cast<const UnalignedUInt*>(p);
  return {reinterpret_cast<Float>(bits << 16), reinterpret_cast<Float>(bits & 0xFFFF0000U)};
}
TTT_INLINE void store_pair(Bf16* p, Pair x) {
  *reinterpret_cast<UnalignedUInt*>(p) =
      (round_to_bf16(x.even) >> 16) | (round_to_bf16(x.odd) & 0xFFFF0000U);
}

/// f of the lanes of one or two vectors.
template <typename F, typename... Floats>
TTT_INLINE Float map(const F& f, Float first, Floats... more) {
  return f(first, more...);
}
template <typename F, typename... Pairs>
TTT_INLINE Pair map(const F& f, Pair first, Pairs... more) {
  return {f(first.even, more.even...), f(first.odd, more.odd...)};
}

/// Turns N sums into results for type T; incoming(n) reads the gradient of output n.
template <typename T, typename Channels, int N, typename Incoming>
TTT_INLINE void finish(DepthwiseEpilogue epilogue, Channels (&sums)[N], const Incoming& incoming) {
  const auto each = [&](const auto& f) TTT_LAMBDA_INLINE {
#pragma GCC unroll 7
    for (int n = 0; n < N; ++n) sums[n] = map(f, sums[n]);
  };
  const auto each_with_gradient = [&](const auto& f) TTT_LAMBDA_INLINE {
#pragma GCC unroll 7
    for (int n = 0; n < N; ++n) sums[n] = map(f, sums[n], incoming(n));
  };
  switch (epilogue) {
    case DepthwiseEpilogue::relu:
      return each([](Float sum) TTT_LAMBDA_INLINE { return sum < 0.0F ? Float{} : sum; });
    case DepthwiseEpilogue::gelu:
      return each([](Float sum) TTT_LAMBDA_INLINE { return gelu_as<T>(sum); });
    case DepthwiseEpilogue::relu_gradient:
      return each_with_gradient([](Float sum, Float gradient)
                                    TTT_LAMBDA_INLINE { return sum <= 0.0F ? Float{} : gradient; });
    case DepthwiseEpilogue::gelu_gradient:
      return each_with_gradient([](Float sum, Float gradient)
                                    TTT_LAMBDA_INLINE { return gradient * gelu_slope(sum); });
    case DepthwiseEpilogue::none:
      break;
  }
}

/// Outputs x .. x + N - 1 of the row. Pixels outside the grid are read from the row of zeros.
template <typename T, int Stride, int N>
TTT_INLINE void outputs(const DepthwiseRow& row, std::int64_t x) {
  constexpr int kColumns = (N - 1) * Stride + 3;
  const T* in[3][kColumns];
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < kColumns; ++j) {
      const std::int64_t column = x * Stride + j - 1;
      const bool inside = row.rows[i] != nullptr && column >= 0 && column < row.width;
      in[i][j] = inside ? static_cast<const T*>(row.rows[i]) + column * row.pixel
                        : reinterpret_cast<const T*>(row.zeros);
    }
  T* out = static_cast<T*>(row.out) + x * row.out_pixel;
  const T* gradient = row.gradient == nullptr
                          ? nullptr
                          : static_cast<const T*>(row.gradient) + x * row.gradient_pixel;
  const auto step = [&](std::int64_t c, const auto& read, const auto& write) TTT_LAMBDA_INLINE {
    using Channels = decltype(read(row.bias));
    Channels sums[N];
#pragma GCC unroll 7
    for (int n = 0; n < N; ++n) sums[n] = read(row.bias + c);
#pragma GCC unroll 3
    for (int i = 0; i < 3; ++i) {
      Channels taps[3];
#pragma GCC unroll 3
      for (int j = 0; j < 3; ++j) taps[j] = read(row.taps + (i * 3 + j) * row.channels + c);
#pragma GCC unroll 15
      for (int j = 0; j < kColumns; ++j) {
        const Channels value = read(in[i][j] + c);
#pragma GCC unroll 7
        for (int n = 0; n < N; ++n) {
          const int tap = j - n * Stride;
          if (tap >= 0 && tap < 3) sums[n] = sums[n] + value * taps[tap];
        }
      }
      if (i == 1 && row.add_input) {
#pragma GCC unroll 7
        for (int n = 0; n < N; ++n) sums[n] = sums[n] + read(in[1][n * Stride + 1] + c);
      }
    }
    finish<T>(row.epilogue, sums,
              [&](int n) TTT_LAMBDA_INLINE { return read(gradient + n * row.gradient_pixel + c); });
#pragma GCC unroll 7
    for (int n = 0; n < N; ++n) write(out + n * row.out_pixel + c, sums[n]);
  };
  std::int64_t c = 0;
  if constexpr (kLanes == 16 && sizeof(T) == sizeof(Bf16))  // else pairs need too many registers
    for (; c + 2 * kLanes <= row.channels; c += 2 * kLanes)
      step(
          c, [](const auto* p) TTT_LAMBDA_INLINE { return load_pair(p); },
          [](T* p, Pair value) TTT_LAMBDA_INLINE { store_pair(p, value); });
  for (; c + kLanes <= row.channels; c += kLanes)
    step(
        c, [](const auto* p) TTT_LAMBDA_INLINE { return load(p); },
        [](T* p, Float value) TTT_LAMBDA_INLINE { store(p, value); });
  if (const std::int64_t rest = row.channels - c; rest > 0)
    step(
        c, [rest](const auto* p) TTT_LAMBDA_INLINE { return load_first(p, rest); },
        [rest](T* p, Float value) TTT_LAMBDA_INLINE { store_first(p, value, rest); });
}

template <typename T, int Stride>
void row_with_stride(const DepthwiseRow& row) {
  std::int64_t x = 0;
  for (; x + kBlock <= row.out_width; x += kBlock) outputs<T, Stride, kBlock>(row, x);
  for (; x + 2 <= row.out_width; x += 2) outputs<T, Stride, 2>(row, x);
  if (x < row.out_width) outputs<T, Stride, 1>(row, x);
}

template <typename T>
void compute_row(const DepthwiseRow& row, std::int64_t stride) {
  if (stride == 1) {
    row_with_stride<T, 1>(row);
  } else {
    row_with_stride<T, 2>(row);
  }
}

/// The sums of one vector of channels, in registers over all rows.
template <typename T>
TTT_INLINE void tap_sums_of(const DepthwiseTapSums& s, std::int64_t channel) {
  const std::int64_t count = s.channels - channel;
  Float sum[3][3] = {}, total{};
  const T* zeros = reinterpret_cast<const T*>(s.zeros) + channel;
  for (std::int64_t y = s.begin; y < s.end; ++y) {
    const T* rows[3];
    std::int64_t pixel[3];
    for (int i = 0; i < 3; ++i) {
      const std::int64_t row = y * s.stride + i - 1;
      const bool inside = row >= 0 && row < s.height;
      rows[i] = inside ? static_cast<const T*>(s.in) + row * s.row + channel : zeros;
      pixel[i] = inside ? s.pixel : 0;
    }
    const T* factor = static_cast<const T*>(s.factor) + y * s.factor_row + channel;
    for (std::int64_t x = 0; x < s.out_width; ++x, factor += s.factor_pixel) {
      const Float e = load_up_to(factor, count);
      const std::int64_t column = x * s.stride;
      total += e;
#pragma GCC unroll 3
      for (int i = 0; i < 3; ++i) {
        const T* center = rows[i] + column * pixel[i];
        const T* left = column > 0 ? center - pixel[i] : zeros;
        const T* right = column + 1 < s.width ? center + pixel[i] : zeros;
        sum[i][0] += load_up_to(left, count) * e;
        sum[i][1] += load_up_to(center, count) * e;
        sum[i][2] += load_up_to(right, count) * e;
      }
    }
  }
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      store_up_to(s.sums + (i * 3 + j) * s.channels + channel, sum[i][j], count);
  store_up_to(s.sums + 9 * s.channels + channel, total, count);
}

template <typename T>
void tap_sums(const DepthwiseTapSums& s) {
  for (std::int64_t c = 0; c < s.channels; c += kLanes) tap_sums_of<T>(s, c);
}

template <typename T>
void spread(const DepthwiseSpread& s) {
  for (std::int64_t x = 0; x < s.width; ++x) {
    // The outputs that read this pixel, with the tap each reads it through: at most four.
    const T* gradients[4];
    const float* taps[4];
    int found = 0;
    for (std::int64_t i = 0; i < 3; ++i)
      for (std::int64_t j = 0; j < 3; ++j) {
        const std::int64_t row = s.y + 1 - i, column = x + 1 - j;
        if (row < 0 || column < 0 || row % 2 != 0 || column % 2 != 0) continue;
        if (row / 2 >= s.out_height || column / 2 >= s.out_width) continue;
        gradients[found] =
            static_cast<const T*>(s.gradient) + row / 2 * s.row + column / 2 * s.pixel;
        taps[found++] = s.taps + (i * 3 + j) * s.channels;
      }
    T* out = static_cast<T*>(s.out) + x * s.out_pixel;
    for (std::int64_t c = 0; c < s.channels; c += kLanes) {
      const std::int64_t count = s.channels - c;
      Float sum{};
      for (int n = 0; n < found; ++n)
        sum += load_up_to(gradients[n] + c, count) * load_up_to(taps[n] + c, count);
      store_up_to(out + c, sum, count);
    }
  }
}

}  // namespace

extern const DepthwiseKernels depthwise_kernels;
const DepthwiseKernels depthwise_kernels{compute_row<float>, compute_row<Bf16>, tap_sums<float>,
                                         tap_sums<Bf16>,     spread<float>,     spread<Bf16>};

}  // namespace ttt::ops::TTT_ISA
