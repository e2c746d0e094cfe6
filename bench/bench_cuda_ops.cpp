// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// bench_cuda_ops: every op of the registry on the GPU at the sizes of real models, against the same
// computation composed of LibTorch's operators. Times are those between two events on the GPU.
//   bench_cuda_ops --benchmark_filter=gated --benchmark_format=json
#include "bench/aten_equivalents.h"
#include "core/device.h"
#include "core/error.h"
#include "kernels/registry.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <benchmark/benchmark.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <spdlog/fmt/fmt.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cstdio>
#include <string>

namespace ttt::bench {
namespace {

using Tensors = std::vector<at::Tensor>;
using Call = std::function<Tensors(const Tensors&)>;

/// Measures in rounds of several calls, so that the time between launches hides behind the GPU's
/// work.
void measure(benchmark::State& state, c10::Device device, const std::function<void()>& call) {
  constexpr int kWarmUp = 3, kCalls = 10;
  const c10::Stream stream = c10::impl::VirtualGuardImpl(device.type()).getStream(device);
  for (int i = 0; i < kWarmUp; ++i) call();
  for (auto _ : state) {
    c10::Event start(device.type(), c10::EventFlag::BACKEND_DEFAULT);
    c10::Event end(device.type(), c10::EventFlag::BACKEND_DEFAULT);
    start.record(stream);
    for (int i = 0; i < kCalls; ++i) call();
    end.record(stream);
    end.synchronize();
    state.SetIterationTime(start.elapsedTime(end) / 1000 / kCalls);
  }
}

struct Subject {
  ops::OpCase op_case;
  at::ScalarType dtype;
  c10::Device device;
  Call call;
};

Tensors inputs_of(const Subject& subject) {
  Tensors result;
  for (const at::Tensor& input : subject.op_case.inputs(subject.dtype))
    result.push_back(ops::case_on_device(input, subject.device));
  return result;
}

void forward(benchmark::State& state, const Subject& subject) {
  const at::NoGradGuard no_gradients;
  const Tensors inputs = inputs_of(subject);
  measure(state, subject.device, [&] { benchmark::DoNotOptimize(subject.call(inputs)); });
  using benchmark::Counter;
  const double bytes =
      subject.op_case.elements * static_cast<double>(c10::elementSize(subject.dtype));
  state.counters["GFLOP/s"] =
      Counter(subject.op_case.flops * 1e-9, Counter::kIsIterationInvariantRate);
  state.counters["GB/s"] = Counter(bytes * 1e-9, Counter::kIsIterationInvariantRate);
}

void training(benchmark::State& state, const Subject& subject) {
  Tensors leaves;
  for (const at::Tensor& input : inputs_of(subject))
    leaves.push_back(input.detach().requires_grad_());
  Tensors ones;
  for (const at::Tensor& output : subject.call(leaves)) ones.push_back(at::ones_like(output));
  measure(state, subject.device, [&] {
    benchmark::DoNotOptimize(torch::autograd::grad(subject.call(leaves), leaves, ones));
  });
}

void add(const std::string& name, const std::string& who, const Subject& subject) {
  const auto configure = [](benchmark::internal::Benchmark* b) {
    b->Unit(benchmark::kMicrosecond)->UseManualTime()->MinTime(0.01);
  };
  configure(benchmark::RegisterBenchmark((name + "forward/" + who).c_str(), forward, subject));
  configure(benchmark::RegisterBenchmark((name + "training/" + who).c_str(), training, subject));
}

void add_all(c10::Device device) {
  for (const ops::Op& op : ops::registry())
    for (const ops::OpCase& op_case : op.cases()) {
      if (!op_case.large) continue;
      for (const at::ScalarType dtype : op.support().cuda) {
        const std::string name =
            fmt::format("{}/{}/{}/", op.name, op_case.name, c10::toString(dtype));
        add(name, "cuda", {op_case, dtype, device, [run = op_case.run](const Tensors& in) {
                             return run(in, ops::Backend::cuda);
                           }});
        if (const Call call = aten_equivalent(op.name, op_case.name))
          add(name, "aten", {op_case, dtype, device, call});
      }
    }
}

}  // namespace
}  // namespace ttt::bench

int main(int argc, char** argv) try {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  ttt::bench::add_all(ttt::choose_device("cuda").device);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
} catch (const ttt::Error& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 7;
}
