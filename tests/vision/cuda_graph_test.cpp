// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// CUDA graphs of LibTorch on a GPU: recorded passes give the bits of plain ones, and what can't be
// recorded leaves LibTorch as it was.
#include "core/error.h"
#include "core/log.h"
#include "vision/classifier.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace ttt::vision {
namespace {

using Tensors = GraphRunner::Tensors;

class CudaGraphs : public testing::Test {
 protected:
  void SetUp() override {
    const DeviceChoice choice = choose_device("auto");
    if (!choice.device.is_cuda()) GTEST_SKIP() << "no GPU to run on: " << choice.reason;
    device_ = choice.device;
    at::globalContext().setAllowTF32CuBLAS(false);
    at::globalContext().setAllowTF32CuDNN(false);
  }

  Classifier load(const std::string& model, at::ScalarType dtype, CudaGraphMode mode) const {
    return Classifier::load({.model = model,
                             .random_weights = true,
                             .dtype = dtype,
                             .device = device_,
                             .cuda_graph = mode});
  }

  at::Tensor on_gpu(at::IntArrayRef shape) const { return at::rand(shape).to(device_); }

  c10::Device device_{c10::DeviceType::CPU};
};

void expect_same_bits(const Classifier& plain, const Classifier& recorded, at::IntArrayRef shape) {
  const at::Tensor images = at::rand(shape);
  const ClassificationOutput expected = plain.run(images), actual = recorded.run(images);
  EXPECT_TRUE(expected.logits.equal(actual.logits)) << shape;
  EXPECT_TRUE(expected.features.equal(actual.features)) << shape;
}

TEST_F(CudaGraphs, GiveTheBitsOfPlainLaunches) {
  for (const char* model : {"vit3_t", "hvit3_t"})
    for (const at::ScalarType dtype : {at::kFloat, at::kBFloat16}) {
      SCOPED_TRACE(std::string(model) + " " + c10::toString(dtype));
      const Classifier plain = load(model, dtype, CudaGraphMode::off);
      const Classifier recorded = load(model, dtype, CudaGraphMode::on);
      for (int i = 0; i < 6; ++i) expect_same_bits(plain, recorded, {4, 3, 64, 96});
    }
}

TEST_F(CudaGraphs, FollowChangesOfShape) {
  const Classifier plain = load("hvit3_t", at::kBFloat16, CudaGraphMode::off);
  const Classifier recorded = load("hvit3_t", at::kBFloat16, CudaGraphMode::on);
  // Interleaved, so that recordings that share memory are replayed in turns.
  for (int i = 0; i < 6; ++i)
    for (const std::int64_t batch : {1, 3, 4}) {
      expect_same_bits(plain, recorded, {batch, 3, 64, 64});
      expect_same_bits(plain, recorded, {batch, 3, 32, 96});
    }
}

TEST_F(CudaGraphs, AreForgottenAndRecordedAgain) {
  const Classifier plain = load("vit3_t", at::kFloat, CudaGraphMode::off);
  const Classifier recorded = load("vit3_t", at::kFloat, CudaGraphMode::on);
  const auto kept = static_cast<std::int64_t>(GraphRunner::kKept);
  for (int round = 0; round < 2; ++round)
    for (std::int64_t batch = 1; batch <= kept + 2; ++batch)
      for (int i = 0; i < 4; ++i) expect_same_bits(plain, recorded, {batch, 3, 32, 32});
}

TEST_F(CudaGraphs, WhatWaitsForTheDeviceLaunchesPlainly) {
  int warnings = 0;
  set_log_callback([&](LogLevel level, std::string_view) {
    if (level == LogLevel::warning) ++warnings;
  });
  const auto waits = [](const Tensors& in) {
    const at::Tensor x = in[0] * 2;
    return Tensors{x + x.sum().item<float>()};
  };
  const auto doubles = [](const Tensors& in) { return Tensors{in[0] * 2}; };
  GraphRunner failing(CudaGraphMode::automatic, device_);
  GraphRunner working(CudaGraphMode::on, device_);
  for (int i = 0; i < 5; ++i) {
    const at::Tensor x = on_gpu({1000});
    EXPECT_TRUE(failing.run(waits, {x})[0].equal(waits({x})[0]));
    EXPECT_TRUE(working.run(doubles, {x})[0].equal(x * 2));
  }
  set_log_callback({});
  EXPECT_EQ(warnings, 1);
  EXPECT_EQ(failing.recorded(), 0U);
  EXPECT_EQ(working.recorded(), 1U) << "a failed recording must not spoil later ones";
  GraphRunner demanded(CudaGraphMode::on, device_);
  for (int i = 0; i < GraphRunner::kPlainPasses; ++i) demanded.run(waits, {on_gpu({7})});
  EXPECT_THROW(demanded.run(waits, {on_gpu({7})}), Error);
}

TEST_F(CudaGraphs, TakeInputsFromTheCpu) {
  GraphRunner graphs(CudaGraphMode::on, device_);
  const auto doubles = [](const Tensors& in) { return Tensors{in[0] * 2}; };
  for (int i = 0; i < 5; ++i) {
    const at::Tensor x = at::rand({3, 5});
    EXPECT_TRUE(graphs.run(doubles, {x})[0].cpu().equal(x * 2));
  }
}

}  // namespace
}  // namespace ttt::vision
