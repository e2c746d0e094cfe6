// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// Every op of the registry: the CUDA version against the reference, forward and gradients, in each
// dtype. One program runs the kernels on a GPU, another the same kernels under the host emulator,
// at the small sizes only.
#include "core/device.h"
#include "tests/kernels/parity.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <tuple>

namespace ttt::ops {
namespace {

using namespace test;

bool emulated() {
  return cuda::device_type() == c10::DeviceType::CPU;
}

/// The device to test on, or why there is none.
DeviceChoice test_device() {
  if (emulated()) return {c10::Device(c10::DeviceType::CPU), "emulated"};
  return choose_device("auto");
}

Tensors on_device(const Tensors& tensors, c10::Device device) {
  Tensors result;
  for (const at::Tensor& tensor : tensors) result.push_back(case_on_device(tensor, device));
  return result;
}

Tensors on_cpu(const Tensors& tensors) {
  Tensors result;
  for (const at::Tensor& tensor : tensors) result.push_back(tensor.cpu());
  return result;
}

class CudaParity : public testing::TestWithParam<std::tuple<std::string, at::ScalarType>> {};

TEST_P(CudaParity, MatchesReference) {
  const DeviceChoice choice = test_device();
  if (choice.device.type() != cuda::device_type())
    GTEST_SKIP() << "no GPU to run on: " << choice.reason;
  const auto& [name, dtype] = GetParam();
  for (const OpCase& op_case : op_of(name).cases()) {
    if (op_case.large) continue;
    SCOPED_TRACE(op_case.name);
    const Tensors inputs = op_case.inputs(dtype);
    const Tensors there = on_device(inputs, choice.device);
    expect_equal(on_cpu(op_case.run(there, Backend::cuda)), op_case.run(inputs, Backend::reference),
                 [&op_case, dtype = dtype](at::ScalarType type) {
                   return output_tolerance(op_case, Backend::cuda, dtype, type);
                 });
    for (std::size_t i = 0; i < inputs.size(); ++i)
      EXPECT_TRUE(inputs[i].equal(there[i].cpu())) << "input " << i << " was changed";
    if (op_case.differentiable)
      expect_equal(on_cpu(gradients(op_case, there, Backend::cuda)),
                   gradients(op_case, inputs, Backend::reference),
                   [&op_case, dtype = dtype](at::ScalarType type) {
                     return gradient_tolerance(op_case, Backend::cuda, dtype, type);
                   });
  }
}

TEST_P(CudaParity, ModelSizesMatchReference) {
  if (emulated()) GTEST_SKIP() << "too much work for the emulator";
  const DeviceChoice choice = test_device();
  if (choice.device.type() != cuda::device_type())
    GTEST_SKIP() << "no GPU to run on: " << choice.reason;
  const auto& [name, dtype] = GetParam();
  for (const OpCase& op_case : op_of(name).cases()) {
    if (!op_case.large || op_case.flops > 3e10) continue;  // as on the CPU
    SCOPED_TRACE(op_case.name);
    const Tensors inputs = op_case.inputs(dtype);
    const Tensors there = on_device(inputs, choice.device);
    expect_equal(on_cpu(op_case.run(there, Backend::cuda)), op_case.run(inputs, Backend::reference),
                 [&op_case, dtype = dtype](at::ScalarType type) {
                   return output_tolerance(op_case, Backend::cuda, dtype, type);
                 });
  }
}

TEST_P(CudaParity, SamplesDoNotDependOnTheirBatch) {
  const DeviceChoice choice = test_device();
  if (choice.device.type() != cuda::device_type())
    GTEST_SKIP() << "no GPU to run on: " << choice.reason;
  const auto& [name, dtype] = GetParam();
  for (const OpCase& op_case : op_of(name).cases()) {
    const Tensors inputs = on_device(op_case.inputs(dtype), choice.device);
    const std::int64_t batch = inputs[0].size(0);
    if (op_case.large || batch < 2) continue;
    SCOPED_TRACE(op_case.name);
    Tensors first = inputs;
    for (at::Tensor& input : first)
      if (input.size(0) == batch && input.dim() > 1 && input.is_floating_point())
        input = input.narrow(0, 0, 1);
    const Tensors all = op_case.run(inputs, Backend::cuda), one = op_case.run(first, Backend::cuda);
    for (std::size_t i = 0; i < all.size(); ++i)
      EXPECT_TRUE(all[i].narrow(0, 0, 1).equal(one[i])) << "output " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, CudaParity,
                         testing::Combine(testing::ValuesIn(op_names()),
                                          testing::Values(at::kFloat, at::kBFloat16)),
                         [](const auto& test) {
                           return std::get<0>(test.param) + "_" +
                                  c10::toString(std::get<1>(test.param));
                         });

}  // namespace
}  // namespace ttt::ops
