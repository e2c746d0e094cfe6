// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// Classifiers whose passes are recorded and replayed, by a recorder that calls them again.
#include "tests/support/fake_graph_recorder.h"
#include "vision/classifier.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace ttt::vision {
namespace {

class RecordedClassifier : public testing::TestWithParam<std::string> {
 protected:
  Classifier load(std::shared_ptr<GraphRecorder> recorder) const {
    return Classifier::load(
        {.model = GetParam(), .random_weights = true, .graph_recorder = std::move(recorder)});
  }
  /// The same pictures through both; their results must be the same bits.
  void compare(at::IntArrayRef shape, const ForwardContext& context = {}) const {
    const at::Tensor images = at::rand(shape);
    const ClassificationOutput plain = plain_.run(images, context);
    const ClassificationOutput replayed = recorded_.run(images, context);
    EXPECT_TRUE(plain.logits.equal(replayed.logits));
    EXPECT_TRUE(plain.features.equal(replayed.features));
  }

  std::shared_ptr<test::FakeGraphRecorder> recorder_ = std::make_shared<test::FakeGraphRecorder>();
  Classifier plain_ = load(nullptr), recorded_ = load(recorder_);
};

TEST_P(RecordedClassifier, GivesTheSameAsOneThatLaunches) {
  for (int i = 0; i < 4; ++i) {
    compare({2, 3, 32, 32});
    compare({1, 3, 32, 64});
  }
  EXPECT_EQ(recorder_->attempts, 2);
}

TEST_P(RecordedClassifier, TellsContextsApart) {
  for (int i = 0; i < 4; ++i) {
    compare({1, 3, 32, 32});
    compare({1, 3, 32, 32}, {.inner_update = false});
  }
  EXPECT_EQ(recorder_->attempts, 2);
}

TEST_P(RecordedClassifier, LaunchesWhereMoreThanTheResultIsWanted) {
  int traced = 0;
  std::vector<InnerStepReport> reports;
  ForwardContext tracing;
  tracing.trace = [&](const std::string&, const at::Tensor&) { ++traced; };
  ForwardContext reporting;
  reporting.reports = &reports;
  for (int i = 0; i < 4; ++i) {
    traced = 0;
    reports.clear();
    const at::Tensor images = at::rand({1, 3, 32, 32});
    recorded_.run(images, tracing);
    recorded_.run(images, reporting);
    EXPECT_GT(traced, 0);
    EXPECT_FALSE(reports.empty());
  }
  EXPECT_EQ(recorder_->attempts, 0);
}

INSTANTIATE_TEST_SUITE_P(Models, RecordedClassifier, testing::Values("vit3_t", "hvit3_t"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace ttt::vision
