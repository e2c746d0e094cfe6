// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/cuda_gemm.h"
#include "kernels/support/cuda_launch.cuh"
#include "kernels/swiglu_fast_weights/cuda.h"
#include "kernels/swiglu_fast_weights/kernel.cuh"

#include <algorithm>

namespace ttt::ops::cuda {
namespace {

// Tokens between two launches of the gate. What lies between the products grows with it, and large
// products keep a GPU busy. It doesn't depend on the batch, nor do the sums then.
constexpr std::int64_t kTile = 2048;

std::int64_t tile_of(const SwigluSizes& sizes) {
  return std::min(kTile, sizes.tokens);
}

std::int64_t plane_floats(const SwigluSizes& sizes) {
  return sizes.batch * sizes.heads * tile_of(sizes) * sizes.hidden;
}

/// The products of one tile of tokens.
class TileProducts {
 public:
  TileProducts(DataType type, const SwigluSizes& sizes, std::int64_t first, const Stream& stream)
      : type_(type),
        sizes_(sizes),
        stream_(stream),
        first_(first),
        rows_(std::min(tile_of(sizes), sizes.tokens - first)) {}

  std::int64_t rows() const { return rows_; }
  std::int64_t matrices() const { return sizes_.batch * sizes_.heads; }

  GemmMatrix activation(const SwigluActivation& x) const {
    const std::int64_t bytes = type_ == DataType::bfloat16 ? 2 : 4;
    return {static_cast<const char*>(x.data) + first_ * x.strides.token * bytes,
            type_,
            x.strides.token,
            1,
            x.strides.batch,
            sizes_.width};
  }
  GemmMatrix plane(const float* data, std::int64_t columns) const {
    const std::int64_t head = rows_ * columns;
    return {data, DataType::float32, columns, 1, sizes_.heads * head, head};
  }
  GemmMatrix plane(const float* data) const { return plane(data, sizes_.hidden); }
  /// w0 or w2 [width, hidden]; w1 [hidden, width] where `down`.
  GemmMatrix weight(const float* data, std::int64_t batch_stride, bool down) const {
    const std::int64_t size = sizes_.width * sizes_.hidden;
    return {data, DataType::float32, down ? sizes_.width : sizes_.hidden, 1, batch_stride, size};
  }
  GemmMatrix sum(const float* data, bool down) const {
    return weight(data, sizes_.heads * sizes_.width * sizes_.hidden, down);
  }

  /// out [rows, columns] = a b (+ d)
  void operator()(const GemmMatrix& a, const GemmMatrix& b, const GemmMatrix& out,
                  std::int64_t rows, std::int64_t columns, std::int64_t depth,
                  const GemmMatrix& d = {}) const {
    GemmLaunch gemm;
    gemm.factors = type_;
    gemm.samples = sizes_.batch;
    gemm.heads = sizes_.heads;
    gemm.rows = rows;
    gemm.columns = columns;
    gemm.depth = depth;
    gemm.a = a;
    gemm.b = b;
    gemm.d = d;
    gemm.out = out;
    launch_gemm(gemm, stream_);
  }
  /// plane = x W, or x W^T for w1.
  void project(const SwigluActivation& x, const GemmMatrix& weight, float* to) const {
    (*this)(activation(x), weight, plane(to), rows_, sizes_.hidden, sizes_.width);
  }

 private:
  DataType type_;
  const SwigluSizes& sizes_;
  const Stream& stream_;
  std::int64_t first_, rows_;
};

/// The planes of a pass in its workspace.
SwigluPlanes planes_of(const SwigluSumsLaunch& p, std::int64_t first, std::int64_t rows) {
  const std::int64_t size = plane_floats(p.sizes);
  float* const at = p.workspace;
  SwigluPlanes planes{
      at,      at + size, at + 2 * size,  at + 3 * size, at + 4 * size, at + 5 * size,
      nullptr, nullptr,   p.sizes.tokens, rows,          p.sizes.hidden};
  if (p.rates != nullptr) planes.rates = p.rates + first;
  if (p.drates != nullptr) planes.drates = p.drates + first;
  return planes;
}

/// sums += X^T a, r^T Y, X^T c of the gated planes.
void add_sums(const SwigluSumsLaunch& p, const TileProducts& multiply, const SwigluPlanes& planes) {
  const std::int64_t width = p.sizes.width, hidden = p.sizes.hidden, rows = multiply.rows();
  const GemmMatrix keys = multiply.activation(p.x).transposed();
  const GemmMatrix w0 = multiply.sum(p.sums.w0, false), w1 = multiply.sum(p.sums.w1, true),
                   w2 = multiply.sum(p.sums.w2, false);
  multiply(keys, multiply.plane(planes.a), w0, width, hidden, rows, w0);
  multiply(keys, multiply.plane(planes.c), w2, width, hidden, rows, w2);
  multiply(multiply.plane(planes.r).transposed(), multiply.activation(p.y), w1, hidden, width, rows,
           w1);
}

/// Products of the gated planes with matrices, added up; the last one is written as activations.
struct BackTerm {
  const float* plane;
  GemmMatrix factor;  // [hidden, width]
};
void add_back(const SwigluSumsLaunch& p, const TileProducts& multiply,
              const SwigluActivation& target, std::initializer_list<BackTerm> terms) {
  float* const sums = p.workspace + 6 * plane_floats(p.sizes);
  const GemmMatrix between = multiply.plane(sums, p.sizes.width);
  std::size_t i = 0;
  for (const BackTerm& term : terms) {
    const bool last = ++i == terms.size();
    multiply(multiply.plane(term.plane), term.factor, last ? multiply.activation(target) : between,
             multiply.rows(), p.sizes.width, p.sizes.hidden, i == 1 ? GemmMatrix{} : between);
  }
}

void launch_tile(const SwigluSumsLaunch& p, std::int64_t first, const Stream& stream) {
  const TileProducts multiply(p.type, p.sizes, first, stream);
  const SwigluPlanes planes = planes_of(p, first, multiply.rows());
  const auto matrix = [&](const SwigluWeightPointers& w, const float* data, bool down) {
    return multiply.weight(data, w.batch_stride, down);
  };
  const GemmMatrix w0 = matrix(p.weights, p.weights.w0, false),
                   w1 = matrix(p.weights, p.weights.w1, true),
                   w2 = matrix(p.weights, p.weights.w2, false);
  const GemmMatrix d0 = matrix(p.dsums, p.dsums.w0, false), d1 = matrix(p.dsums, p.dsums.w1, true),
                   d2 = matrix(p.dsums, p.dsums.w2, false);
  const bool backward = p.dsums.w0 != nullptr;
  const LaunchShape per_token{multiply.matrices() * multiply.rows(), kSwigluThreads};
  multiply.project(p.x, w0, planes.a);
  multiply.project(p.x, w2, planes.c);
  multiply.project(p.y, w1.transposed(), planes.r);
  if (backward) {
    multiply.project(p.x, d0, planes.p0);
    multiply.project(p.y, d1.transposed(), planes.p1);
    multiply.project(p.x, d2, planes.p2);
    launch("swiglu gradient backward", swiglu_gradient_backward_kernel, per_token, stream, planes);
  } else {
    launch("swiglu gradient", swiglu_gradient_kernel, per_token, stream, planes);
  }
  add_sums(p, multiply, planes);
  if (backward) {
    add_back(p, multiply, p.dx,
             {{planes.a, w0.transposed()},
              {planes.c, w2.transposed()},
              {planes.p0, d0.transposed()},
              {planes.p2, d2.transposed()}});
    add_back(p, multiply, p.dy, {{planes.r, w1}, {planes.p1, d1}});
  } else if (p.dx.data != nullptr) {
    add_back(p, multiply, p.dx, {{planes.a, w0.transposed()}, {planes.c, w2.transposed()}});
  }
}

}  // namespace

std::int64_t swiglu_apply_workspace(const SwigluSizes& sizes) {
  return 2 * plane_floats(sizes);
}

std::int64_t swiglu_sums_workspace(const SwigluSizes& sizes, bool backward) {
  const std::int64_t sums = sizes.batch * sizes.heads * tile_of(sizes) * sizes.width;
  return backward ? 6 * plane_floats(sizes) + sums : 3 * plane_floats(sizes);
}

void launch_swiglu_apply(const SwigluApplyLaunch& p, const Stream& stream) {
  float *const gate = p.workspace, *const linear = gate + plane_floats(p.sizes);
  for (std::int64_t first = 0; first < p.sizes.tokens; first += tile_of(p.sizes)) {
    const TileProducts multiply(p.type, p.sizes, first, stream);
    const auto weight = [&](const float* data, bool down) {
      return multiply.weight(data, p.weights.batch_stride, down);
    };
    multiply.project(p.x, weight(p.weights.w0, false), gate);
    multiply.project(p.x, weight(p.weights.w2, false), linear);
    const std::int64_t total = multiply.matrices() * multiply.rows() * p.sizes.hidden;
    launch("swiglu gate", swiglu_gate_kernel, {ceil_divide(total, kSwigluThreads), kSwigluThreads},
           stream, gate, static_cast<const float*>(linear), total);
    multiply(multiply.plane(gate), weight(p.weights.w1, true), multiply.activation(p.out),
             multiply.rows(), p.sizes.width, p.sizes.hidden);
  }
}

void launch_swiglu_sums(const SwigluSumsLaunch& p, const Stream& stream) {
  for (std::int64_t first = 0; first < p.sizes.tokens; first += tile_of(p.sizes))
    launch_tile(p, first, stream);
}

}  // namespace ttt::ops::cuda
