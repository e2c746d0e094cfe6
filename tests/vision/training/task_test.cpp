// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/atomic_file.h"
#include "core/error.h"
#include "tests/support/paths.h"
#include "tests/support/pictures.h"
#include "training/gradients.h"
#include "vision/training/classification_task.h"
#include "vision/vit3.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace ttt::vision {
namespace {

using training::NamedTensors;

class ClassificationTaskTest : public testing::Test {
 protected:
  ClassificationTaskTest() {
    test::write_class_folders(folder_.path(), 3, 6, 20);
    options_.batch = 4;
    options_.augment.preprocess.width = options_.augment.preprocess.height = 16;
  }

  std::shared_ptr<const LabelledImages> images() const {
    return std::make_shared<LabelledImages>(expand_inputs({.arguments = {folder_.path().string()}}),
                                            LabelledImagesOptions{});
  }

  std::unique_ptr<ClassificationTask> make_task(bool averaged = false) const {
    const Vit3Config config{.dim = 16, .depth = 2, .heads = 2, .patch = 8, .classes = 3};
    const auto model = make_vit3(config);
    model->initialize(1);
    const auto average = averaged ? make_vit3(config) : nullptr;
    if (average) average->initialize(2);
    return std::make_unique<ClassificationTask>(model, average, images(), images(), options_);
  }

  /// Loss and gradients of one batch.
  std::pair<double, NamedTensors> gradients(ClassificationTask& task, std::int64_t epoch,
                                            std::int64_t batch) const {
    const NamedTensors parameters = training::trainable_parameters(task.model());
    training::clear_gradients(parameters);
    task.start_epoch(epoch, batch);
    const auto result = task.forward_backward({.epoch = epoch, .batch = batch});
    NamedTensors values;
    for (const NamedTensor& p : parameters) values.push_back({p.name, p.tensor.grad().clone()});
    return {result.loss, values};
  }

  static bool same(const NamedTensors& a, const NamedTensors& b) {
    return std::equal(a.begin(), a.end(), b.begin(),
                      [](const auto& x, const auto& y) { return at::equal(x.tensor, y.tensor); });
  }

  test::TempDir folder_;
  ClassificationTaskOptions options_;
};

TEST_F(ClassificationTaskTest, ABatchDependsOnSeedEpochAndIndexAlone) {
  options_.drop_path = 0.3;
  const auto first = make_task();
  gradients(*first, 0, 0);
  gradients(*first, 0, 1);
  const auto [loss, expected] = gradients(*first, 1, 2);
  for (const int workers : {0, 1, 4}) {
    options_.workers = workers;
    const auto fresh = make_task();
    const auto [again, actual] = gradients(*fresh, 1, 2);
    EXPECT_EQ(again, loss);
    EXPECT_TRUE(same(actual, expected)) << workers;
  }
  EXPECT_FALSE(same(gradients(*first, 2, 2).second, expected));
  options_.seed = 1;
  EXPECT_FALSE(same(gradients(*make_task(), 1, 2).second, expected));
}

TEST_F(ClassificationTaskTest, RecomputeAndLossScale) {
  const auto [loss, expected] = gradients(*make_task(), 0, 0);
  options_.recompute = true;
  EXPECT_TRUE(same(gradients(*make_task(), 0, 0).second, expected));
  const auto task = make_task();
  task->start_epoch(0, 0);
  task->forward_backward({.loss_scale = 0.5});
  EXPECT_TRUE(at::allclose(task->model().parameters()[0].grad() * 2, expected[0].tensor));
}

TEST_F(ClassificationTaskTest, MesaAddsTheAverageModelsView) {
  options_.epochs = 8;
  const auto [plain, gradients_without] = gradients(*make_task(true), 2, 0);
  options_.mesa = 1.5;
  const auto [before, gradients_before] = gradients(*make_task(true), 1, 0);
  options_.mesa = 0;
  EXPECT_TRUE(same(gradients_before, gradients(*make_task(true), 1, 0).second));
  options_.mesa = 1.5;
  const auto [with, gradients_with] = gradients(*make_task(true), 2, 0);
  EXPECT_GT(with, plain + 1.0);  // cross-entropy against about uniform predictions, times 1.5
  EXPECT_FALSE(same(gradients_with, gradients_without));
  EXPECT_THROW(make_task(false), Error);
}

TEST_F(ClassificationTaskTest, Bf16KeepsParametersAndGradientsFloat) {
  const auto [loss, expected] = gradients(*make_task(), 0, 0);
  options_.compute = at::kBFloat16;
  const auto [narrow, actual] = gradients(*make_task(), 0, 0);
  EXPECT_NE(narrow, loss);
  EXPECT_NEAR(narrow, loss, 0.05);
  for (const NamedTensor& gradient : actual) EXPECT_EQ(gradient.tensor.scalar_type(), at::kFloat);
}

TEST_F(ClassificationTaskTest, ReportsInnerLoopNorms) {
  const auto task = make_task();
  task->start_epoch(0, 0);
  EXPECT_TRUE(task->forward_backward({}).norms.empty());
  task->start_epoch(0, 0);
  const auto norms = task->forward_backward({.report_norms = true}).norms;
  EXPECT_EQ(norms.size(), 16U);
  EXPECT_EQ(norms[0].first, "blocks.0.attn/gated_linear_loss_before");
}

TEST_F(ClassificationTaskTest, EvaluationCountsEverything) {
  const auto task = make_task(true);
  const auto metrics = task->evaluate(true, {});
  ASSERT_EQ(metrics.size(), 3U);
  EXPECT_EQ(metrics[0].first, "top1");
  EXPECT_DOUBLE_EQ(metrics[1].second, 1.0);  // 3 classes: the top five are all
}

TEST_F(ClassificationTaskTest, UnreadablePicturesAreReplacedAndCounted) {
  write_file(folder_ / "class1/2.bmp", "not a picture");
  const auto task = make_task();
  for (std::int64_t batch = 0; batch < task->batches_per_epoch(); ++batch)
    gradients(*task, 0, batch);
  EXPECT_GE(task->unreadable(), 0);
  const auto evaluated = make_task();
  evaluated->evaluate(false, {});
  EXPECT_EQ(evaluated->unreadable(), 1);
}

TEST_F(ClassificationTaskTest, NothingReadableIsAnError) {
  for (int c = 0; c < 3; ++c)
    for (int i = 0; i < 6; ++i)
      write_file(folder_ / ("class" + std::to_string(c) + "/" + std::to_string(i) + ".bmp"), "x");
  const auto task = make_task();
  task->start_epoch(0, 0);
  EXPECT_THROW(task->forward_backward({}), Error);
}

TEST_F(ClassificationTaskTest, PreviewIsAPicture) {
  write_preview(*images(), options_.augment, 1, folder_ / "sheet.png", 4, 3);
  EXPECT_GT(std::filesystem::file_size(folder_ / "sheet.png"), 1000U);
}

}  // namespace
}  // namespace ttt::vision
