// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/newton_schulz/cuda.h"

#include "kernels/newton_schulz/backends.h"
#include "kernels/support/cuda_tensors.h"

#include <ATen/ATen.h>

namespace ttt::ops::cuda {
namespace {

constexpr std::string_view kOp = "newton_schulz";

/// A launch and the memory that it works in.
struct Work {
  Work(const at::Tensor& g, const NewtonSchulzOptions& options, bool keep) {
    const auto steps = static_cast<std::int64_t>(options.steps.size());
    for (const NewtonSchulzStep& step : options.steps)
      coefficients.push_back(
          {static_cast<float>(step.a), static_cast<float>(step.b), static_cast<float>(step.c)});
    const std::int64_t batch = g.size(0), rows = g.size(1), columns = g.size(2);
    const std::int64_t squares_kept = keep ? steps : std::min<std::int64_t>(1, steps);
    x = at::empty({keep ? steps + 1 : std::min<std::int64_t>(2, steps + 1), batch, rows, columns},
                  g.options());
    gram = at::empty({squares_kept, batch, rows, rows}, g.options());
    polynomial = at::empty_like(gram);
    squares = at::empty({batch}, g.options().dtype(at::kDouble));
    launch.factors = options.bf16 ? DataType::bfloat16 : DataType::float32;
    launch.batch = batch;
    launch.rows = rows;
    launch.columns = columns;
    launch.steps = coefficients.data();
    launch.step_count = steps;
    launch.g = g.const_data_ptr<float>();
    launch.x = x.mutable_data_ptr<float>();
    launch.keep = keep;
    launch.gram = gram.mutable_data_ptr<float>();
    launch.polynomial = polynomial.mutable_data_ptr<float>();
    launch.squares = squares.mutable_data_ptr<double>();
  }
  std::vector<NewtonSchulzCoefficients> coefficients;
  at::Tensor x, gram, polynomial, squares;
  NewtonSchulzLaunch launch;
};

}  // namespace

std::vector<at::ScalarType> newton_schulz_dtypes() {
  return {at::kFloat, at::kBFloat16};
}

at::Tensor newton_schulz(const at::Tensor& g, const NewtonSchulzOptions& options) {
  const at::Tensor from = g.contiguous();
  const Work work(from, options, false);
  std::int64_t place = 0;
  run_on_stream(kOp, from, [&](const Stream& stream) {
    place = (launch_newton_schulz(work.launch, stream) - work.launch.x) / from.numel();
  });
  return work.x.select(0, place);
}

at::Tensor newton_schulz_backward(const at::Tensor& g, const NewtonSchulzOptions& options,
                                  const at::Tensor& dx) {
  const at::Tensor from = g.contiguous();
  const Work work(from, options, true);
  const at::Tensor d = dx.clone(at::MemoryFormat::Contiguous), previous = at::empty_like(d);
  const at::Tensor squares = at::empty({3, from.size(0), from.size(1), from.size(1)}, g.options());
  const at::Tensor dot = at::empty_like(work.squares);
  at::Tensor dg = at::empty_like(from);
  NewtonSchulzBackwardLaunch launch;
  launch.forward = work.launch;
  launch.d = d.mutable_data_ptr<float>();
  launch.previous = previous.mutable_data_ptr<float>();
  launch.dq = squares.select(0, 0).mutable_data_ptr<float>();
  launch.product = squares.select(0, 1).mutable_data_ptr<float>();
  launch.da = squares.select(0, 2).mutable_data_ptr<float>();
  launch.dot = dot.mutable_data_ptr<double>();
  launch.dg = dg.mutable_data_ptr<float>();
  run_on_stream(kOp, from,
                [&](const Stream& stream) { launch_newton_schulz_backward(launch, stream); });
  return dg;
}

}  // namespace ttt::ops::cuda
