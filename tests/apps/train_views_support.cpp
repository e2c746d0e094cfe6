// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/train_views_support.h"

#include "tests/apps/train_support.h"

#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <filesystem>

namespace ttt::test {

std::string novel_view_architecture(int dim) {
  return fmt::format(R"(patch_size: 8
dim: {}
layers: 1
block_config:
  - type: model.SelfAttention
    length_dim: l
    params: {{head_dim: 8, use_qk_norm: true}}
  - type: lact_ttt.FastWeightGluMLPMultihead
    length_dim: vl
    params: {{head_dim: 8, inter_multi: 2, base_lr: 0.01, muon_update_steps: 5}}
  - type: model.MLP
    length_dim: vl
    params: {{inter_multi: 2}}
)",
                     dim);
}

NovelViewFolder::NovelViewFolder() {
  write_text_file(path("model.yaml"), novel_view_architecture(16));
}

std::vector<std::string> NovelViewFolder::call(const std::string& run,
                                               std::vector<std::string> more) const {
  std::vector<std::string> arguments{"train",
                                     "--model",
                                     "lvsm",
                                     "--architecture",
                                     path("model.yaml"),
                                     "--data",
                                     "procedural",
                                     "--output",
                                     path(run),
                                     "--size",
                                     "16",
                                     "--input-views",
                                     "3",
                                     "--target-views",
                                     "2",
                                     "--shared-views",
                                     "0",
                                     "--epoch-scenes",
                                     "12",
                                     "--batch",
                                     "2",
                                     "--epochs",
                                     "2",
                                     "--max-steps",
                                     "3",
                                     "--threads",
                                     "1",
                                     "--validation-scenes",
                                     "1",
                                     "--log-steps",
                                     "1",
                                     "--warmup-epochs",
                                     "0",
                                     "--learning-rate",
                                     "0.01",
                                     "--no-scale-learning-rate",
                                     "--seed",
                                     "1"};
  // The last one counts, but lists grow.
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::vector<std::string> NovelViewFolder::call_with_data(
    const std::string& data, const std::string& run, const std::vector<std::string>& more) const {
  std::vector<std::string> arguments = call(run, more);
  std::replace(arguments.begin(), arguments.end(), std::string("procedural"), data);
  return arguments;
}

std::string NovelViewFolder::weights(const std::string& run,
                                     const std::vector<std::string>& more) const {
  const ProgramResult result = run_ttt(call(run, more));
  EXPECT_EQ(result.code, 0) << result.err;
  return newest_weights(path(run));
}

std::string NovelViewFolder::scene() const {
  const std::string scene = path("scenes/scene_000");
  if (std::filesystem::exists(scene)) return scene;
  const ProgramResult result = run_ttt(call(
      "none", {"--export-scenes", path("scenes"), "--input-views", "10", "--target-views", "2"}));
  EXPECT_EQ(result.code, 0) << result.err;
  return scene;
}

}  // namespace ttt::test
