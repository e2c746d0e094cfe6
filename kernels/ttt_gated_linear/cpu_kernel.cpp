// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/ttt_gated_linear/cpu_kernel.h"

#include "kernels/support/simd_rotate.h"
#include "kernels/support/simd_transpose.h"

namespace ttt::ops::TTT_ISA {
namespace {

// Rows per register block: with a pair of vectors per row, 16 or 12 accumulators.
constexpr int kBlock = kLanes == 16 ? 8 : 6;

TTT_INLINE std::int64_t padded(std::int64_t d) {
  return (d + kLanes - 1) / kLanes * kLanes;
}

/// Runs body<R>() with R = count, 1 <= count <= kBlock, so that register blocks have constant size.
template <int R = kBlock, typename Body>
TTT_INLINE void with_block(std::int64_t count, const Body& body) {
  if constexpr (R > 1) {
    if (count < R) return with_block<R - 1>(count, body);
  }
  body.template operator()<R>();
}

void pack(const float* a, const float* b, std::int64_t d, float* packed) {
  for (std::int64_t i = 0; i < d; ++i)
    for (std::int64_t c = 0; c < d; c += kLanes) {
      store(packed, load_up_to(a + i * d + c, d - c));
      store(packed + kLanes, load_up_to(b + i * d + c, d - c));
      packed += 2 * kLanes;
    }
}

void unpack(const float* packed, std::int64_t d, float* a, float* b) {
  for (std::int64_t i = 0; i < d; ++i)
    for (std::int64_t c = 0; c < d; c += kLanes) {
      store_up_to(a + i * d + c, load(packed), d - c);
      store_up_to(b + i * d + c, load(packed + kLanes), d - c);
      packed += 2 * kLanes;
    }
}

void pack_transposed(const float* a, const float* b, std::int64_t d, float* packed) {
  const std::int64_t width = padded(d);
  const float* const pair[2] = {a, b};
  for (std::int64_t c = 0; c < d; c += kLanes)
    for (const float* matrix : pair) {
      for (std::int64_t r = 0; r < width; r += kLanes) {
        Float square[kLanes];
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i)
          square[i] = r + i < d ? load_up_to(matrix + (r + i) * d + c, d - c) : Float{};
        transpose_steps<1>(square);
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) store(packed + i * width + r, square[i]);
      }
      packed += kLanes * width;
    }
}

void widen_rows(const ConstTokenRows& rows, std::int64_t count, std::int64_t d, float* out) {
  const auto* in = static_cast<const Bf16*>(rows.data);
  for (std::int64_t t = 0; t < count; ++t, in += rows.stride, out += d)
    for (std::int64_t c = 0; c < d; c += kLanes)
      store_up_to(out + c, load_up_to(in + c, d - c), d - c);
}

/// Turns `count` tokens of d channels, by their row of the grid up to channel `split`, from there
/// on by their column.
template <typename From, typename To>
TTT_INLINE void rotate_tokens(const From* in, std::int64_t in_stride, const HeadRotation& rotation,
                              std::int64_t count, std::int64_t d, To* out,
                              std::int64_t out_stride) {
  const RopeAngles& a = rotation.angles;
  const std::int64_t left = a.half - rotation.channel;
  const std::int64_t split = left < 0 ? 0 : (left < d ? left : d);
  std::int64_t row = rotation.token / a.width * a.half + rotation.channel;
  const std::int64_t first_column = left < 0 ? -left : 0;
  const std::int64_t end_column = first_column + a.width * a.half;
  std::int64_t column = first_column + rotation.token % a.width * a.half;
  for (std::int64_t t = 0; t < count; ++t, in += in_stride, out += out_stride) {
    rotate(in, a.row_cosine + row, a.row_sine + row, split, out);
    rotate(in + split, a.column_cosine + column, a.column_sine + column, d - split, out + split);
    column += a.half;
    if (column != end_column) continue;
    column = first_column;
    row += a.half;
  }
}

void read_rotated(const ConstTokens& tokens, const HeadRotation& rotation, float* out) {
  const auto& [rows, count, d] = tokens;
  if (rows.bf16) {
    rotate_tokens(static_cast<const Bf16*>(rows.data), rows.stride, rotation, count, d, out, d);
  } else {
    rotate_tokens(static_cast<const float*>(rows.data), rows.stride, rotation, count, d, out, d);
  }
}

void write_rotated(const TokenTile& tile, const HeadRotation& rotation, const TokenRows& out) {
  const auto& [data, stride, count, d] = tile;
  if (out.bf16) {
    rotate_tokens(data, stride, rotation, count, d, static_cast<Bf16*>(out.data), out.stride);
  } else {
    rotate_tokens(data, stride, rotation, count, d, static_cast<float*>(out.data), out.stride);
  }
}

template <typename T>
void write_as(const float* data, std::int64_t stride, std::int64_t count, std::int64_t d, T* out,
              std::int64_t out_stride) {
  for (std::int64_t t = 0; t < count; ++t, data += stride, out += out_stride)
    for (std::int64_t c = 0; c < d; c += kLanes)
      store_up_to(out + c, load_up_to(data + c, d - c), d - c);
}

void write(const float* data, std::int64_t stride, std::int64_t count, std::int64_t d,
           const TokenRows& out) {
  if (out.bf16) {
    write_as(data, stride, count, d, static_cast<Bf16*>(out.data), out.stride);
  } else {
    write_as(data, stride, count, d, static_cast<float*>(out.data), out.stride);
  }
}

/// Products of R rows with one column pair of a packed matrix; finish(row, first, second).
template <int R, typename Finish>
TTT_INLINE void project_block(const float* rows, std::int64_t stride, std::int64_t d,
                              const float* packed, std::int64_t packed_stride,
                              const Finish& finish) {
  Float first[R], second[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) first[r] = second[r] = Float{};
  for (std::int64_t i = 0; i < d; ++i, packed += packed_stride) {
    const Float left = load(packed), right = load(packed + kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const Float value = broadcast(rows[r * stride + i]);
      first[r] += value * left;
      second[r] += value * right;
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) finish(r, first[r], second[r]);
}

/// Calls finish(row, column, first, second) with the products of all rows and column pairs.
template <typename Finish>
TTT_INLINE void project_tile(const TokenTile& tile, const float* packed, const Finish& finish) {
  const std::int64_t packed_stride = 2 * padded(tile.d);
  for (std::int64_t c = 0; c < tile.d; c += kLanes)
    for (std::int64_t t = 0; t < tile.rows; t += kBlock)
      with_block(tile.rows - t, [&]<int R>() {
        project_block<R>(
            tile.data + t * tile.stride, tile.stride, tile.d, packed + 2 * c, packed_stride,
            [&](std::int64_t r, Float first, Float second) { finish(t + r, c, first, second); });
      });
}

void project(const TokenTile& tile, const float* packed, float* out) {
  const std::int64_t width = 2 * padded(tile.d);
  project_tile(tile, packed, [&](std::int64_t t, std::int64_t c, Float first, Float second) {
    store(out + t * width + 2 * c, first);
    store(out + t * width + 2 * c + kLanes, second);
  });
}

template <typename T>
void step_products_as(const TokenTile& tile, const float* packed, const T* v, std::int64_t v_stride,
                      float* out) {
  const std::int64_t width = 2 * padded(tile.d);
  project_tile(tile, packed, [&](std::int64_t t, std::int64_t c, Float z1, Float z2) {
    const Float value = load_up_to(v + t * v_stride + c, tile.d - c);
    const Float s = sigmoid(z2);
    store(out + t * width + 2 * c, value * (z2 * s));
    store(out + t * width + 2 * c + kLanes, value * z1 * (s * (1.0F + z2 * (1.0F - s))));
  });
}

void step_products(const TokenTile& tile, const float* packed, const ConstTokenRows& v,
                   float* out) {
  if (v.bf16) {
    step_products_as(tile, packed, static_cast<const Bf16*>(v.data), v.stride, out);
  } else {
    step_products_as(tile, packed, static_cast<const float*>(v.data), v.stride, out);
  }
}

/// sums[0..R)[pair at the pointer] += rows [:, 0..R)^T * pair
template <int R>
TTT_INLINE void accumulate_block(const TokenTile& tile, std::int64_t channel, const float* pair,
                                 std::int64_t width, float* sums) {
  Float first[R], second[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    first[r] = load(sums + r * width);
    second[r] = load(sums + r * width + kLanes);
  }
  const float* row = tile.data + channel;
  for (std::int64_t t = 0; t < tile.rows; ++t, row += tile.stride, pair += width) {
    const Float left = load(pair), right = load(pair + kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const Float value = broadcast(row[r]);
      first[r] += value * left;
      second[r] += value * right;
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
    store(sums + r * width, first[r]);
    store(sums + r * width + kLanes, second[r]);
  }
}

void accumulate(const TokenTile& tile, const float* pair, float* sums) {
  const std::int64_t width = 2 * padded(tile.d);
  for (std::int64_t i = 0; i < tile.d; i += kBlock)
    with_block(tile.d - i, [&]<int R>() {
      for (std::int64_t c = 0; c < width; c += 2 * kLanes)
        accumulate_block<R>(tile, i, pair + c, width, sums + i * width + c);
    });
}

void finish(const GatedLinearFinish& f) {
  const std::int64_t width = 2 * padded(f.d);
  for (std::int64_t c = 0; c < width; c += kLanes) {
    Float squares{};
    for (std::int64_t i = 0; i < f.d; ++i) {
      const Float g = load(f.packed_sums + i * width + c) * f.scale;
      squares += g * g;
    }
    const Float divisor = square_root(squares) + 1.0F;
    const bool second = (c / kLanes) % 2 != 0;
    const std::int64_t column = c / (2 * kLanes) * kLanes, count = f.d - column;
    float* w = (second ? f.w2 : f.w1) + column;
    float* gradient = (second ? f.g2 : f.g1) + column;
    for (std::int64_t i = 0; i < f.d; ++i) {
      const Float g = load(f.packed_sums + i * width + c) * f.scale;
      store_up_to(gradient + i * f.d, g, count);
      store_up_to(w + i * f.d, load(f.packed_weights + i * width + c) - g / divisor, count);
    }
  }
}

template <typename T>
void apply_as(const TokenTile& tile, const float* packed, T* out, std::int64_t out_stride) {
  project_tile(tile, packed, [&](std::int64_t t, std::int64_t c, Float y1, Float y2) {
    store_up_to(out + t * out_stride + c, y1 * (y2 * sigmoid(y2)), tile.d - c);
  });
}

void apply(const TokenTile& tile, const float* packed, const TokenRows& out) {
  if (out.bf16) {
    apply_as(tile, packed, static_cast<Bf16*>(out.data), out.stride);
  } else {
    apply_as(tile, packed, static_cast<float*>(out.data), out.stride);
  }
}

/// V vectors of columns of R rows; `depth` products per element.
template <int R, int V>
TTT_INLINE void project_back_block(const float* rows, std::int64_t depth, const float* transposed,
                                   std::int64_t width, bool add, float* out) {
  Float sum[V][R];
#pragma GCC unroll 2
  for (int n = 0; n < V; ++n)
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) sum[n][r] = add ? load(out + r * width + n * kLanes) : Float{};
  for (std::int64_t j = 0; j < depth; ++j, transposed += width) {
    Float right[V];
#pragma GCC unroll 2
    for (int n = 0; n < V; ++n) right[n] = load(transposed + n * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const Float value = broadcast(rows[r * depth + j]);
#pragma GCC unroll 2
      for (int n = 0; n < V; ++n) sum[n][r] += value * right[n];
    }
  }
#pragma GCC unroll 2
  for (int n = 0; n < V; ++n)
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) store(out + r * width + n * kLanes, sum[n][r]);
}

template <int V>
TTT_INLINE void project_back_columns(const float* pair, const float* transposed, std::int64_t rows,
                                     std::int64_t width, bool add, float* out) {
  const std::int64_t depth = 2 * width;
  for (std::int64_t t = 0; t < rows; t += kBlock)
    with_block(rows - t, [&]<int R>() {
      project_back_block<R, V>(pair + t * depth, depth, transposed, width, add, out + t * width);
    });
}

void project_back(const float* pair, const float* transposed, std::int64_t rows, std::int64_t d,
                  bool add, float* out) {
  const std::int64_t width = padded(d);
  std::int64_t c = 0;
  for (; c + 2 * kLanes <= width; c += 2 * kLanes)
    project_back_columns<2>(pair, transposed + c, rows, width, add, out + c);
  if (c < width) project_back_columns<1>(pair, transposed + c, rows, width, add, out + c);
}

template <typename T>
void step_backward_as(const StepBackwardTile& tile, const ConstTokenRows& values,
                      const TokenRows& gradients) {
  const std::int64_t width = 2 * padded(tile.d);
  for (std::int64_t t = 0; t < tile.rows; ++t) {
    const T* v = static_cast<const T*>(values.data) + t * values.stride;
    T* dv = static_cast<T*>(gradients.data) + t * gradients.stride;
    for (std::int64_t c = 0; c < tile.d; c += kLanes) {
      const std::int64_t at = t * width + 2 * c;
      const Float z1 = load(tile.z + at), z2 = load(tile.z + at + kLanes);
      const Float dp1 = load(tile.dp + at), dp2 = load(tile.dp + at + kLanes);
      const Float s = sigmoid(z2);
      const Float a = z2 * s, slope = s * (1.0F + z2 * (1.0F - s));
      const Float curvature = s * (1.0F - s) * (2.0F + z2 * (1.0F - 2.0F * s));
      const Float e = load_up_to(v + c, tile.d - c) * tile.scale;
      store_up_to(dv + c, (dp1 * a + dp2 * z1 * slope) * tile.scale, tile.d - c);
      store(tile.dp + at, e * a);
      store(tile.dp + at + kLanes, e * z1 * slope);
      store(tile.dz + at, dp2 * e * slope);
      store(tile.dz + at + kLanes, dp1 * e * slope + dp2 * e * z1 * curvature);
    }
  }
}

void step_backward(const StepBackwardTile& tile, const ConstTokenRows& v, const TokenRows& dv) {
  if (v.bf16) {
    step_backward_as<Bf16>(tile, v, dv);
  } else {
    step_backward_as<float>(tile, v, dv);
  }
}

template <typename T>
void apply_backward_as(std::int64_t rows, std::int64_t d, const T* dout, std::int64_t stride,
                       float* y) {
  for (std::int64_t t = 0; t < rows; ++t, dout += stride)
    for (std::int64_t c = 0; c < d; c += kLanes, y += 2 * kLanes) {
      const Float y1 = load(y), y2 = load(y + kLanes);
      const Float s = sigmoid(y2), gradient = load_up_to(dout + c, d - c);
      store(y, gradient * (y2 * s));
      store(y + kLanes, gradient * y1 * (s * (1.0F + y2 * (1.0F - s))));
    }
}

void apply_backward(std::int64_t rows, std::int64_t d, const ConstTokenRows& dout, float* y) {
  if (dout.bf16) {
    apply_backward_as(rows, d, static_cast<const Bf16*>(dout.data), dout.stride, y);
  } else {
    apply_backward_as(rows, d, static_cast<const float*>(dout.data), dout.stride, y);
  }
}

using Double = double __attribute__((vector_size(kLanes * 8)));

TTT_INLINE Double load_double(const float* p, std::int64_t count) {
  return __builtin_convertvector(load_up_to(p, count), Double);
}

void clip_backward(const ClipBackward& a) {
  for (std::int64_t c = 0; c < a.d; c += kLanes) {
    const std::int64_t count = a.d - c;
    Double squares{}, dot{}, scale, along;
    for (std::int64_t i = c; i < a.d * a.d; i += a.d) {
      const Double g = load_double(a.g + i, count);
      squares += g * g;
      dot -= g * load_double(a.dout + i, count);
    }
    for (int lane = 0; lane < kLanes; ++lane) {
      const double norm = __builtin_sqrt(squares[lane]);
      scale[lane] = 1 / (norm + 1);
      along[lane] = norm > 0 ? dot[lane] * scale[lane] * scale[lane] / norm : 0;
    }
    for (std::int64_t i = c; i < a.d * a.d; i += a.d) {
      const Double dg =
          -load_double(a.dout + i, count) * scale - load_double(a.g + i, count) * along;
      store_up_to(a.dg + i, __builtin_convertvector(dg, Float), count);
    }
  }
}

}  // namespace

extern const GatedLinearKernels gated_linear_kernels;
const GatedLinearKernels gated_linear_kernels{
    kLanes,        pack,         pack_transposed, unpack,         widen_rows,   read_rotated,
    write_rotated, write,        project,         step_products,  accumulate,   finish,
    apply,         project_back, step_backward,   apply_backward, clip_backward};

}  // namespace ttt::ops::TTT_ISA
