// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/newton_schulz/cuda.h"
#include "kernels/newton_schulz/kernel.cuh"
#include "kernels/support/cuda_gemm.h"
#include "kernels/support/cuda_launch.cuh"

namespace ttt::ops::cuda {
namespace {

/// Contiguous matrices [batch, rows, columns].
GemmMatrix contiguous(const float* data, std::int64_t rows, std::int64_t columns) {
  return {data, DataType::float32, columns, 1, rows * columns, 0};
}

/// The sizes of one launch, and products of its matrices.
class Products {
 public:
  Products(const NewtonSchulzLaunch& launch, const Stream& stream) : p_(launch), stream_(stream) {}

  GemmMatrix wide(const float* data) const { return contiguous(data, p_.rows, p_.columns); }
  GemmMatrix square(const float* data) const { return contiguous(data, p_.rows, p_.rows); }

  /// out = alpha a b + beta d
  void operator()(const GemmMatrix& a, const GemmMatrix& b, float* out, bool square_result,
                  std::int64_t depth, float alpha = 1, const float* d = nullptr,
                  float beta = 1) const {
    GemmLaunch gemm;
    gemm.factors = p_.factors;
    gemm.samples = p_.batch;
    gemm.rows = p_.rows;
    gemm.columns = square_result ? p_.rows : p_.columns;
    gemm.depth = depth;
    gemm.a = a;
    gemm.b = b;
    gemm.out = square_result ? square(out) : wide(out);
    if (d != nullptr) gemm.d = square_result ? square(d) : wide(d);
    gemm.alpha = alpha;
    gemm.beta = beta;
    launch_gemm(gemm, stream_);
  }

 private:
  const NewtonSchulzLaunch& p_;
  const Stream& stream_;
};

void launch_dot(const float* a, const float* b, const NewtonSchulzLaunch& p, double* out,
                const Stream& stream) {
  launch("newton_schulz dot", matrix_dot_kernel, {p.batch, kNewtonSchulzThreads}, stream, a, b,
         p.rows * p.columns, out);
}

LaunchShape elementwise(std::int64_t count) {
  return {ceil_divide(count, kNewtonSchulzThreads), kNewtonSchulzThreads};
}

}  // namespace

float* launch_newton_schulz(const NewtonSchulzLaunch& p, const Stream& stream) {
  const Products multiply(p, stream);
  const std::int64_t size = p.rows * p.columns, total = p.batch * size;
  const std::int64_t square = p.batch * p.rows * p.rows;
  launch_dot(p.g, p.g, p, p.squares, stream);
  const double* const squares = p.squares;
  launch("newton_schulz normalise", normalise_kernel, elementwise(total), stream, p.g, squares,
         size, total, p.x);
  float* x = p.x;
  for (std::int64_t i = 0; i < p.step_count; ++i) {
    const NewtonSchulzCoefficients& step = p.steps[i];
    float* const gram = p.gram + (p.keep ? i * square : 0);
    float* const polynomial = p.polynomial + (p.keep ? i * square : 0);
    float* const next = p.x + (p.keep ? i + 1 : (i + 1) % 2) * total;
    multiply(multiply.wide(x), multiply.wide(x).transposed(), gram, true, p.columns);
    multiply(multiply.square(gram), multiply.square(gram), polynomial, true, p.rows, step.c, gram,
             step.b);
    multiply(multiply.square(polynomial), multiply.wide(x), next, false, p.rows, 1, x, step.a);
    x = next;
  }
  return x;
}

void launch_newton_schulz_backward(const NewtonSchulzBackwardLaunch& arguments,
                                   const Stream& stream) {
  const NewtonSchulzLaunch& p = arguments.forward;
  const Products multiply(p, stream);
  const std::int64_t size = p.rows * p.columns, total = p.batch * size;
  const std::int64_t square = p.batch * p.rows * p.rows;
  launch_newton_schulz(p, stream);
  float *d = arguments.d, *previous = arguments.previous;
  for (std::int64_t i = p.step_count - 1; i >= 0; --i) {
    const NewtonSchulzCoefficients& step = p.steps[i];
    const float* const x = p.x + i * total;
    const float* const gram = p.gram + i * square;
    // With A = X X^T and dQ = dX' X^T: dA + dA^T = b (dQ + dQ^T) + c (M + M^T), M = dQ A + A dQ.
    multiply(multiply.wide(d), multiply.wide(x).transposed(), arguments.dq, true, p.columns);
    multiply(multiply.square(arguments.dq), multiply.square(gram), arguments.product, true, p.rows);
    multiply(multiply.square(gram), multiply.square(arguments.dq), arguments.product, true, p.rows,
             1, arguments.product);
    launch("newton_schulz symmetric", symmetric_sum_kernel, elementwise(square), stream,
           SymmetricSum{arguments.product, arguments.dq, step.c, step.b, p.rows, square,
                        arguments.da});
    multiply(multiply.square(p.polynomial + i * square), multiply.wide(d), previous, false, p.rows,
             1, d, step.a);
    multiply(multiply.square(arguments.da), multiply.wide(x), previous, false, p.rows, 1, previous);
    float* const swapped = d;
    d = previous;
    previous = swapped;
  }
  launch_dot(d, p.g, p, arguments.dot, stream);
  launch("newton_schulz normalise backward", normalise_backward_kernel, elementwise(total), stream,
         NormaliseBackward{p.g, d, p.squares, arguments.dot, size, total, arguments.dg});
}

}  // namespace ttt::ops::cuda
