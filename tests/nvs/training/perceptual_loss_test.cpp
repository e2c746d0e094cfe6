// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/training/perceptual_loss.h"

#include "core/error.h"
#include "tests/support/fill.h"
#include "tests/support/lpips_weights.h"
#include "tests/support/paths.h"
#include "tests/support/tensor_peak.h"

#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>
#include <torch/torch.h>

#include <functional>

namespace ttt::nvs {
namespace {

using test::fill;
using Tensors = std::vector<NamedTensor>;

/// The files are large: written once.
class Perceptual : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new test::TempDir;
    test::write_lpips_weights(*folder_ / "both.safetensors");
    write("trunk", test::lpips_trunk());
    write("vgg16", test::as_torchvision(test::lpips_trunk()));
    write("top", test::lpips_top());
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static void write(const std::string& name, const Tensors& tensors) {
    write_safetensors(*folder_ / (name + ".safetensors"), tensors);
  }
  static PerceptualLoss load(const std::vector<std::string>& names) {
    std::vector<std::string> files;
    for (const std::string& name : names) files.push_back(*folder_ / (name + ".safetensors"));
    return PerceptualLoss(files);
  }
  static Error failure(const std::vector<std::string>& names) {
    try {
      load(names);
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "no error";
    return Error(ErrorKind::internal, "no error");
  }
  static inline test::TempDir* folder_ = nullptr;
};

/// [N,3,H,W] in 0 to 1.
at::Tensor pictures(const char* name, at::IntArrayRef shape) {
  return fill(name, shape, 0.5).to(at::kDouble) + 0.5;
}

bool mentions(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// From a plain implementation in Python (torch, float64) of the formulas, with weights by the same
// rule. The odd size rounds down at two poolings.
TEST_F(Perceptual, AgreesWithAnotherImplementation) {
  PerceptualLoss loss = load({"both"});
  const std::vector<std::int64_t> shape{2, 3, 20, 33};
  const at::Tensor truth = pictures("truth", shape);
  const at::Tensor rendered = pictures("rendered", shape).requires_grad_();
  const double expected[] = {0.662182511072711, 0.663779987052243};
  const at::Tensor single = loss.distances(rendered, truth);
  loss.to(at::kDouble);
  const at::Tensor exact = loss.distances(rendered, truth);
  for (std::int64_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(exact[i].item<double>(), expected[i], 1e-12);
    EXPECT_NEAR(single[i].item<double>(), expected[i], 1e-5);
  }
  const at::Tensor mean = loss.loss(rendered, truth, at::kDouble);
  EXPECT_NEAR(mean.item<double>(), (expected[0] + expected[1]) / 2, 1e-12);
  (2 * mean).backward();
  const at::Tensor gradient = rendered.grad() / 2;
  EXPECT_NEAR(gradient.norm().item<double>(), 0.0420053561480735, 1e-12);
  EXPECT_NEAR(gradient[0][0][0][0].item<double>(), 0.000111166406189043, 1e-14);
  EXPECT_NEAR(gradient[0][1][7][12].item<double>(), -0.000425995918205219, 1e-14);
  EXPECT_NEAR(gradient[1][2][19][32].item<double>(), -0.000185558309137232, 1e-14);
  EXPECT_NEAR(gradient[1][0][10][20].item<double>(), -0.000755804798780873, 1e-14);
}

TEST_F(Perceptual, GradientsAreCentralDifferences) {
  PerceptualLoss loss = load({"both"});
  loss.to(at::kDouble);
  const at::Tensor truth = pictures("truth", {1, 3, 16, 16});
  const at::Tensor rendered = pictures("rendered", {1, 3, 16, 16}).requires_grad_();
  loss.loss(rendered, truth, at::kDouble).backward();
  const at::Tensor gradient = rendered.grad().view(-1);
  constexpr double kStep = 1e-6;
  for (const std::int64_t i : {0, 100, 333, 500, 767}) {
    const auto moved = [&](double step) {
      at::Tensor changed = rendered.detach().clone();
      changed.view(-1)[i] += step;
      return loss.loss(changed, truth, at::kDouble).item<double>();
    };
    EXPECT_NEAR(gradient[i].item<double>(), (moved(kStep) - moved(-kStep)) / (2 * kStep),
                1e-6 * gradient.abs().max().item<double>())
        << i;
  }
}

TEST_F(Perceptual, EveryLayoutGivesTheSame) {
  const at::Tensor a = pictures("rendered", {1, 3, 16, 16}), b = pictures("truth", {1, 3, 16, 16});
  const PerceptualLoss both = load({"both"});
  const double expected = both.distances(a, b).item<double>();
  EXPECT_GT(expected, 0.1);
  EXPECT_EQ(both.distances(b, b).item<double>(), 0);
  using Names = std::vector<std::string>;
  for (const Names& names : {Names{"trunk", "top"}, {"vgg16", "top"}, {"top", "vgg16"}}) {
    const PerceptualLoss other = load(names);
    EXPECT_EQ(other.distances(a, b).item<double>(), expected) << names[0];
    EXPECT_NE(other.description(), both.description());
  }
  // What the package itself saves: the layers twice, and the constants of the input.
  Tensors package = test::lpips_trunk();
  for (const NamedTensor& item : test::lpips_top()) {
    package.push_back(item);
    package.push_back({"lins." + item.name.substr(3), item.tensor});
  }
  package.push_back({"scaling_layer.shift", at::tensor({-.030, -.088, -.188}).view({1, 3, 1, 1})});
  package.push_back({"scaling_layer.scale", at::tensor({.458, .448, .450}).view({1, 3, 1, 1})});
  write("package", package);
  EXPECT_EQ(load({"package"}).distances(a, b).item<double>(), expected);
  package.back().tensor = at::ones({1, 3, 1, 1});
  write("package", package);
  EXPECT_NE(load({"package"}).distances(a, b).item<double>(), expected);
}

// Tiles bound the memory; each picture's distance is its own.
TEST_F(Perceptual, ManyPicturesAreTheMeanOfEach) {
  const PerceptualLoss loss = load({"both"});
  const at::Tensor truth = pictures("truth", {3, 3, 112, 208}).to(at::kFloat);
  const at::Tensor rendered = pictures("rendered", {3, 3, 112, 208}).to(at::kFloat);
  at::Tensor all = rendered.clone().requires_grad_();
  const at::Tensor mean = loss.loss(all, truth);
  mean.backward();
  const at::Tensor each = loss.distances(rendered, truth);
  EXPECT_NEAR(mean.item<double>(), each.mean().item<double>(), 1e-6);
  at::Tensor last = rendered[2].unsqueeze(0).clone().requires_grad_();
  loss.loss(last, truth[2].unsqueeze(0)).backward();
  const at::Tensor difference = all.grad()[2] - last.grad()[0] / 3;
  EXPECT_LT(difference.norm().item<double>(), 1e-5 * all.grad()[2].norm().item<double>());
}

TEST_F(Perceptual, MemoryIsAsEstimated) {
  const PerceptualLoss loss = load({"both"});
  for (const auto& [width, height] : {std::pair{64, 64}, {256, 256}, {384, 192}}) {
    const at::Tensor a = at::rand({1, 3, height, width}), b = at::rand({1, 3, height, width});
    const auto measured = static_cast<double>(test::tensor_peak([&] { loss.distances(a, b); }));
    const auto estimated = static_cast<double>(perceptual_memory(width, height));
    EXPECT_NEAR(estimated, measured, 0.1 * measured) << width << "x" << height;
  }
}

TEST_F(Perceptual, Bfloat16IsClose) {
  const PerceptualLoss loss = load({"both"});
  const at::Tensor truth = pictures("truth", {1, 3, 32, 32}).to(at::kFloat);
  const at::Tensor exact = pictures("rendered", {1, 3, 32, 32}).to(at::kFloat).requires_grad_();
  const at::Tensor rounded = exact.detach().clone().requires_grad_();
  const at::Tensor expected = loss.loss(exact, truth);
  expected.backward();
  const at::Tensor value = loss.loss(rounded, truth, at::kBFloat16);
  EXPECT_EQ(value.scalar_type(), at::kFloat);
  value.backward();
  EXPECT_NEAR(value.item<double>(), expected.item<double>(), 0.01 * expected.item<double>());
  EXPECT_NE(value.item<double>(), expected.item<double>());
  const double cosine =
      at::cosine_similarity(exact.grad().view(-1), rounded.grad().view(-1), 0).item<double>();
  EXPECT_GT(cosine, 0.9);
}

// Where no channel is active, the derivative of the length must not become NaN.
TEST_F(Perceptual, DeadFeaturesHaveNoGradient) {
  Tensors dead = test::lpips_trunk();
  for (NamedTensor& item : dead)
    if (item.name.ends_with(".bias")) item.tensor.fill_(-1e6);
  write("dead", dead);
  const PerceptualLoss loss = load({"dead", "top"});
  const at::Tensor rendered = pictures("rendered", {1, 3, 16, 16}).to(at::kFloat).requires_grad_();
  const at::Tensor value = loss.loss(rendered, pictures("truth", {1, 3, 16, 16}));
  value.backward();
  EXPECT_EQ(value.item<double>(), 0);
  EXPECT_EQ(rendered.grad().abs().max().item<double>(), 0);
}

TEST_F(Perceptual, NoGradientsAreRecordedUnasked) {
  const PerceptualLoss loss = load({"both"});
  const at::Tensor a = pictures("rendered", {1, 3, 16, 16}), b = pictures("truth", {1, 3, 16, 16});
  EXPECT_FALSE(loss.loss(a, b).requires_grad());
  at::Tensor wanted = a.clone().requires_grad_();
  EXPECT_TRUE(loss.loss(wanted, b).requires_grad());
  EXPECT_FALSE(loss.distances(wanted, b).requires_grad());
  const torch::NoGradGuard no_grad;
  EXPECT_FALSE(loss.loss(wanted, b).requires_grad());
}

TEST_F(Perceptual, WhatIsMissingIsNamed) {
  const auto expect = [&](const std::vector<std::string>& names, ErrorKind kind,
                          std::string_view part) {
    const Error error = failure(names);
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_TRUE(mentions(error.what(), part)) << error.what();
    EXPECT_TRUE(mentions(error.hint(), "vgg")) << error.hint();
  };
  expect({}, ErrorKind::usage, "0 files");
  expect({"both", "top", "trunk"}, ErrorKind::usage, "3 files");
  expect({"trunk"}, ErrorKind::weights, "lin0.model.1.weight");
  expect({"top"}, ErrorKind::weights, "VGG16 trunk is missing");
  expect({"both", "vgg16"}, ErrorKind::weights, "both files hold a trunk");
  expect({"top", "both"}, ErrorKind::weights, "both files hold LPIPS's layers");
  write("other", {{"head.weight", at::ones({2, 2})}});
  expect({"other"}, ErrorKind::weights, "neither VGG16 nor");
  expect({"vgg16", "other"}, ErrorKind::weights, "neither VGG16 nor");

  Tensors trunk = test::lpips_trunk();
  trunk.pop_back();
  write("broken", trunk);
  expect({"broken", "top"}, ErrorKind::weights, "1 missing: net.slice5.28.bias");
  trunk = test::as_torchvision(test::lpips_trunk());
  trunk.push_back({"features.30.weight", at::ones({2})});
  write("broken", trunk);
  expect({"broken", "top"}, ErrorKind::weights, "1 unexpected: features.30.weight");
  Tensors top = test::lpips_top();  // those of another network
  top[1].tensor = at::ones({1, 192, 1, 1});
  write("broken", top);
  expect({"vgg16", "broken"}, ErrorKind::weights, "[1, 192, 1, 1] in the file");
  top = test::lpips_top();
  top[4].tensor[0][7] = NAN;
  write("broken", top);
  EXPECT_EQ(failure({"vgg16", "broken"}).kind(), ErrorKind::weights);
  EXPECT_EQ(failure({"nosuch"}).kind(), ErrorKind::weights);
}

TEST_F(Perceptual, SmallPicturesAreRefused) {
  const PerceptualLoss loss = load({"both"});
  const auto of = [&](std::int64_t height, std::int64_t width) {
    const at::Tensor a = at::zeros({1, 3, height, width});
    return loss.loss(a, a).item<double>();
  };
  EXPECT_EQ(of(16, 16), 0);
  for (const auto& [height, width] : {std::pair{15, 64}, {64, 15}, {8, 8}}) try {
      of(height, width);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_TRUE(mentions(error.what(), fmt::format("{}x{}", width, height))) << error.what();
      EXPECT_TRUE(mentions(error.hint(), "16x16")) << error.hint();
    }
}

}  // namespace
}  // namespace ttt::nvs
