// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "training/checkpoints.h"

#include "core/atomic_file.h"
#include "core/error.h"
#include "core/weights/weight_file.h"
#include "tests/support/paths.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace ttt::training {
namespace {

Checkpoint checkpoint_of(std::int64_t step) {
  return {.step = step,
          .model = {{"w", at::full({2, 3}, static_cast<double>(step))}},
          .model_metadata = {{"step", std::to_string(step)}},
          .state = {{"m", at::full({2}, static_cast<double>(step))}}};
}

TEST(CheckpointStore, KeepsTheLastOnesAndTheBest) {
  const test::TempDir folder;
  const CheckpointStore store(folder.path(), 2);
  store.save_best(checkpoint_of(5).model, {});
  for (const std::int64_t step : {5, 100, 20}) store.save(checkpoint_of(step));
  EXPECT_EQ(store.steps(), (std::vector<std::int64_t>{20, 100}));
  EXPECT_FALSE(std::filesystem::exists(store.state_path(5)));
  EXPECT_TRUE(std::filesystem::exists(store.best_path()));
  const WeightFile model = WeightFile::open(store.model_path(100));
  EXPECT_TRUE(at::equal(model.read("w"), checkpoint_of(100).model[0].tensor));
  EXPECT_EQ(model.metadata().at("step"), "100");
  store.clear();
  EXPECT_TRUE(store.steps().empty());
  EXPECT_FALSE(std::filesystem::exists(store.best_path()));
}

TEST(CheckpointStore, IgnoresHalfCheckpointsAndOtherFiles) {
  const test::TempDir folder;
  const CheckpointStore store(folder.path(), 3);
  store.save(checkpoint_of(1));
  write_file(store.model_path(2), "no state beside it");
  write_file(store.state_path(3), "no model beside it");
  write_file(folder / "step-x.safetensors", "");
  write_file(folder / "step-00000004.safetensors.tmp", "");
  EXPECT_EQ(store.steps(), (std::vector<std::int64_t>{1}));
}

TEST(CheckpointStore, MissingFolderHasNoCheckpoints) {
  const test::TempDir folder;
  EXPECT_TRUE(CheckpointStore(folder / "none", 1).steps().empty());
}

TEST(RestoreTensors, RefusesWhatDoesNotFit) {
  const test::TempDir folder;
  const CheckpointStore store(folder.path(), 2);
  store.save(checkpoint_of(1));
  const WeightFile file = WeightFile::open(store.model_path(1));
  EXPECT_THROW(restore_tensors(file, {{"absent", at::zeros({2, 3})}}), Error);
  EXPECT_THROW(restore_tensors(file, {{"w", at::zeros({3, 2})}}), Error);
  const NamedTensors into{{"w", at::zeros({2, 3})}};
  restore_tensors(file, into);
  EXPECT_EQ(into[0].tensor.sum().item<double>(), 6.0);
}

}  // namespace
}  // namespace ttt::training
