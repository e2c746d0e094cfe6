// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// bench_ops: every op of the registry at the sizes of real models, against the same computation
// composed of LibTorch's operators.
//   bench_ops --benchmark_filter=gated --benchmark_repetitions=5 --benchmark_format=json
#include "bench/aten_equivalents.h"
#include "kernels/registry.h"
#include "kernels/support/cpu_isa.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <benchmark/benchmark.h>
#include <spdlog/fmt/fmt.h>
#include <torch/csrc/autograd/autograd.h>

#include <string>

namespace ttt::bench {
namespace {

using Tensors = std::vector<at::Tensor>;
using Call = std::function<Tensors(const Tensors&)>;

void set_rates(benchmark::State& state, const ops::OpCase& op_case, at::ScalarType dtype) {
  using benchmark::Counter;
  state.counters["GFLOP/s"] = Counter(op_case.flops * 1e-9, Counter::kIsIterationInvariantRate);
  const double bytes = op_case.elements * static_cast<double>(c10::elementSize(dtype));
  state.counters["GB/s"] = Counter(bytes * 1e-9, Counter::kIsIterationInvariantRate);
}

void forward(benchmark::State& state, const ops::OpCase& op_case, at::ScalarType dtype,
             const Call& call) {
  const at::NoGradGuard no_gradients;
  const Tensors inputs = op_case.inputs(dtype);
  for (auto _ : state) benchmark::DoNotOptimize(call(inputs));
  set_rates(state, op_case, dtype);
}

void training(benchmark::State& state, const ops::OpCase& op_case, at::ScalarType dtype,
              const Call& call) {
  Tensors leaves;
  for (const at::Tensor& input : op_case.inputs(dtype))
    leaves.push_back(input.detach().requires_grad_());
  for (auto _ : state) {
    const Tensors outputs = call(leaves);
    Tensors ones;
    for (const at::Tensor& output : outputs) ones.push_back(at::ones_like(output));
    benchmark::DoNotOptimize(torch::autograd::grad(outputs, leaves, ones));
  }
}

void add(const ops::Op& op, const ops::OpCase& op_case, at::ScalarType dtype,
         const std::string& who, const Call& call) {
  const std::string name = fmt::format("{}/{}/{}/", op.name, op_case.name, c10::toString(dtype));
  const auto configure = [](benchmark::internal::Benchmark* b) {
    b->Unit(benchmark::kMicrosecond)->UseRealTime()->MinTime(0.1);
  };
  configure(benchmark::RegisterBenchmark((name + "forward/" + who).c_str(), forward, op_case, dtype,
                                         call));
  configure(benchmark::RegisterBenchmark((name + "training/" + who).c_str(), training, op_case,
                                         dtype, call));
}

void add_all() {
  for (const ops::Op& op : ops::registry())
    for (const ops::OpCase& op_case : op.cases()) {
      if (!op_case.large) continue;
      for (const at::ScalarType dtype : op.support().cpu) {
        for (const ops::Backend backend : {ops::Backend::reference, ops::Backend::cpu})
          add(op, op_case, dtype, std::string(ops::to_string(backend)),
              [run = op_case.run, backend](const Tensors& in) { return run(in, backend); });
        if (const Call call = aten_equivalent(op.name, op_case.name))
          add(op, op_case, dtype, "aten", call);
      }
    }
}

}  // namespace
}  // namespace ttt::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::AddCustomContext("instruction set",
                              std::string(ttt::ops::to_string(ttt::ops::cpu_isa())));
  benchmark::AddCustomContext("threads", std::to_string(at::get_num_threads()));
  ttt::bench::add_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
