// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/run_program.h"
#include "vision/classifier.h"
#include "vision/model_catalog.h"

#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

namespace ttt::test {
namespace {

using Json = nlohmann::json;

/// Training holds every block's maps: a picture that is classified in little memory needs much.
TEST(BenchMemory, TrainingThatNeedsTooMuchMemoryIsRefused) {
  const ProgramResult result = run_ttt({"bench", "-m", "vit3_t", "--size", "16384", "-b", "32",
                                        "--pass", "training", "--format", "jsonl", "-q"});
  EXPECT_EQ(result.code, 6) << result.err;
  EXPECT_TRUE(contains(result.err, "MiB are free")) << result.err;
}

/// With what the optimizer keeps, as PyTorch's is counted; without the model, which was there
/// before.
TEST(BenchMemory, TrainingNeedsWhatIsEstimated) {
  for (const auto& [name, side] : {std::pair{"vit3_t", 256}, {"hvit3_t", 160}})
    for (const auto& [dtype, type] : {std::pair{"fp32", at::kFloat}, {"bf16", at::kBFloat16}}) {
      SCOPED_TRACE(std::string(name) + " " + dtype);
      const Json row =
          jsonl_rows({"bench", "-m", name, "--size", std::to_string(side), "-b", "2", "--dtype",
                      dtype, "--pass", "training", "-r", "1", "--warm-up", "1"})[0];
      if (!row["memory_mib"].is_number()) GTEST_SKIP() << "this system doesn't tell";
      const auto estimate = [&, name = name](std::int64_t pixels, at::ScalarType in) {
        return static_cast<double>(vision::estimate_training_memory(vision::find_preset(name).spec,
                                                                    2, pixels, pixels, in)) /
               (1 << 20);
      };
      // Without pictures: the parameters, gradients and two moments.
      const double parameters = estimate(0, at::kFloat) / 4;
      const double memory = row["memory_mib"].get<double>();
      EXPECT_GT(memory, 2 * parameters) << "the moments are not counted";
      EXPECT_LE(memory, estimate(side, type) - parameters);
      EXPECT_GE(memory, 0.5 * (estimate(side, type) - parameters));
    }
}

/// The reference computes in double.
TEST(BenchMemory, TheReferenceNeedsWhatIsEstimated) {
  const Json row = jsonl_rows({"bench", "-m", "hvit3_t", "--size", "384", "--backend", "reference",
                               "-r", "1", "--warm-up", "0"})[0];
  if (!row["memory_mib"].is_number()) GTEST_SKIP() << "this system doesn't tell";
  const auto estimate = [](std::int64_t side) {
    return vision::estimate_memory(vision::find_preset("hvit3_t").spec, 1, side, side, at::kFloat,
                                   ops::Backend::reference);
  };
  // The weights are there before the pass whose memory is measured.
  const double pass = static_cast<double>(estimate(384) - estimate(0)) / (1 << 20);
  EXPECT_LE(row["memory_mib"].get<double>(), pass);
}

}  // namespace
}  // namespace ttt::test
