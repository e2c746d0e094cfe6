// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// What classifies pictures (folded and packed weights, sums in place) against the reference, at the
// published widths, with every instruction set and at sizes that no tile divides.
#include "kernels/support/cpu_isa.h"
#include "layers/holders.h"
#include "tests/support/compare.h"
#include "tests/support/fill.h"
#include "tests/vision/model_support.h"

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <tuple>
#include <vector>

namespace ttt::test {
namespace {

using ops::CpuIsa;
using vision::HVit3Config;
using vision::ModelSpec;
using vision::Vit3Config;

struct PictureShape {
  std::int64_t batch, height, width;
};

struct FastPathCase {
  const char* name;
  ModelSpec spec;
  std::vector<PictureShape> shapes;
};

/// One token, one row or column of them, odd grids, and batches that no block of rows divides.
const std::vector<PictureShape> kPatch16{{1, 16, 16},  {17, 16, 16}, {5, 32, 32},   {3, 48, 48},
                                         {1, 16, 208}, {2, 336, 16}, {1, 208, 336}, {33, 16, 32}};
/// The last stage has a thirty-second of each side.
const std::vector<PictureShape> kPatch32{{1, 32, 32}, {17, 32, 32}, {3, 96, 32}, {1, 224, 160}};

const std::vector<FastPathCase> kCases{
    {"vit3_t", {Vit3Config{.depth = 2, .classes = 37}}, kPatch16},
    {"vit3_s", {Vit3Config{.dim = 384, .depth = 2, .heads = 6, .classes = 37}}, kPatch16},
    {"odd_heads", {Vit3Config{.dim = 120, .depth = 2, .heads = 5, .classes = 3}}, kPatch16},
    {"hvit3_t", {HVit3Config{.depths = {1, 1, 1, 1}, .classes = 37}}, kPatch32}};

class FastPath : public testing::TestWithParam<std::tuple<FastPathCase, at::ScalarType, CpuIsa>> {};

/// bf16 keeps 8 bits, and many a ReLU or clipped step falls on the other side.
double tolerance_of(at::ScalarType dtype) {
  return dtype == at::kFloat ? 2e-5 : 0.08;
}

at::Tensor logits_with(const vision::ClassificationModel& model, const at::Tensor& images,
                       int threads) {
  const int before = at::get_num_threads();
  at::set_num_threads(threads);
  const at::Tensor logits = model.forward(images, {}).logits;
  at::set_num_threads(before);
  return logits;
}

TEST_P(FastPath, MatchesTheReferenceAtOddSizes) {
  const auto& [test_case, dtype, isa] = GetParam();
  if (isa > ops::best_cpu_isa()) GTEST_SKIP() << "this processor has no " << to_string(isa);
  const c10::InferenceMode inference;
  const auto plain = filled_model(test_case.spec), fast = filled_model(test_case.spec);
  plain->to(dtype);
  fast->prepare_for_inference();
  fast->to(dtype);
  const ops::ScopedCpuIsa scoped(isa);
  layers::pack_for_inference(*fast);
  vision::ForwardContext reference;
  reference.backend = ops::Backend::reference;
  for (const auto& [batch, height, width] : test_case.shapes) {
    SCOPED_TRACE(std::to_string(batch) + "x" + std::to_string(height) + "x" +
                 std::to_string(width));
    const at::Tensor images = fill("img", {batch, 3, height, width});
    const at::Tensor expected = plain->forward(images, reference).logits.to(at::kFloat);
    const at::Tensor one = logits_with(*fast, images, 1);
    EXPECT_LE(relative_to_max(one.to(at::kFloat), expected), tolerance_of(dtype));
    EXPECT_TRUE(one.equal(logits_with(*fast, images, 1))) << "not the same twice";
    EXPECT_LE(relative_to_max(logits_with(*fast, images, 3).to(at::kFloat), expected),
              tolerance_of(dtype));
    const at::Tensor unpacked = plain->forward(images, {}).logits.to(at::kFloat);
    EXPECT_LE(relative_to_max(unpacked, expected), tolerance_of(dtype));
  }
}

std::string fast_path_name(const testing::TestParamInfo<FastPath::ParamType>& info) {
  const auto& [test_case, dtype, isa] = info.param;
  return std::string(test_case.name) + "_" + c10::toString(dtype) + "_" +
         std::string(to_string(isa));
}

INSTANTIATE_TEST_SUITE_P(Models, FastPath,
                         testing::Combine(testing::ValuesIn(kCases),
                                          testing::Values(at::kFloat, at::kBFloat16),
                                          testing::ValuesIn(ops::kCpuIsas)),
                         fast_path_name);

}  // namespace
}  // namespace ttt::test
