// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// Recording by a recorder that keeps the function and calls it again.
#include "core/cuda_graph/graph_runner.h"

#include "core/error.h"
#include "core/log.h"
#include "tests/support/fake_graph_recorder.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace ttt {
namespace {

using Tensors = GraphRunner::Tensors;

/// The warnings while it lives.
class Warnings {
 public:
  Warnings() {
    set_log_callback([this](LogLevel level, std::string_view line) {
      if (level == LogLevel::warning) lines.emplace_back(line);
    });
  }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;
  ~Warnings() { set_log_callback({}); }
  std::vector<std::string> lines;
};

/// Sum and product of two tensors, and how often the function ran.
struct SumAndProduct {
  int calls = 0;
  GraphRunner::Function function() {
    return [this](const Tensors& in) {
      ++calls;
      return Tensors{in[0] + in[1], in[0] * in[1]};
    };
  }
};

class GraphRunnerTest : public testing::Test {
 protected:
  GraphRunner runner(CudaGraphMode mode = CudaGraphMode::automatic) {
    return {mode, at::kCPU, recorder_};
  }
  /// One call with new values of this shape, checked.
  void call(GraphRunner& runner, at::IntArrayRef shape, std::string_view variant = {},
            at::ScalarType dtype = at::kFloat) {
    const Tensors in{at::rand(shape, dtype), at::rand(shape, dtype)};
    const Tensors out = runner.run(both_.function(), in, variant);
    ASSERT_EQ(out.size(), 2U);
    EXPECT_TRUE(out[0].equal(in[0] + in[1]));
    EXPECT_TRUE(out[1].equal(in[0] * in[1]));
  }
  void call_often(GraphRunner& runner, at::IntArrayRef shape) {
    for (int i = 0; i <= GraphRunner::kPlainPasses; ++i) call(runner, shape);
  }

  std::shared_ptr<test::FakeGraphRecorder> recorder_ = std::make_shared<test::FakeGraphRecorder>();
  SumAndProduct both_;
};

TEST_F(GraphRunnerTest, RecordsAShapeThatRepeats) {
  GraphRunner graphs = runner();
  for (int i = 0; i < GraphRunner::kPlainPasses; ++i) call(graphs, {2, 3});
  EXPECT_EQ(recorder_->attempts, 0);
  for (int i = 0; i < 4; ++i) call(graphs, {2, 3});
  EXPECT_EQ(recorder_->attempts, 1);
  EXPECT_EQ(recorder_->replays, 4);
  EXPECT_EQ(graphs.recorded(), 1U);
}

TEST_F(GraphRunnerTest, TellsShapesTypesAndVariantsApart) {
  GraphRunner graphs = runner();
  for (int i = 0; i < 5; ++i) {
    call(graphs, {2, 3});
    call(graphs, {3, 2});
    call(graphs, {6});
    call(graphs, {2, 3}, "other");
    call(graphs, {2, 3}, {}, at::kDouble);
  }
  EXPECT_EQ(graphs.recorded(), 5U);
  EXPECT_EQ(recorder_->attempts, 5);
}

TEST_F(GraphRunnerTest, ForgetsWhatWasUsedLeastRecently) {
  GraphRunner graphs = runner();
  const auto kept = static_cast<std::int64_t>(GraphRunner::kKept);
  for (std::int64_t size = 1; size <= kept; ++size) call_often(graphs, {size});
  call(graphs, {1});
  call_often(graphs, {kept + 1});
  EXPECT_EQ(graphs.recorded(), GraphRunner::kKept);
  EXPECT_EQ(recorder_->alive, static_cast<int>(GraphRunner::kKept));
  const int replays = recorder_->replays;
  call(graphs, {1});
  EXPECT_EQ(recorder_->replays, replays + 1);
  call(graphs, {2});
  EXPECT_EQ(recorder_->replays, replays + 1) << "2 should have been forgotten";
}

TEST_F(GraphRunnerTest, LaunchesPlainlyWhereRecordingFails) {
  GraphRunner graphs = runner();
  call_often(graphs, {4});
  recorder_->fails = true;
  const Warnings warnings;
  for (int i = 0; i < 5; ++i) call(graphs, {5});
  call_often(graphs, {6});
  EXPECT_EQ(recorder_->attempts, 2) << "it isn't tried again";
  ASSERT_EQ(warnings.lines.size(), 1U);
  EXPECT_NE(warnings.lines[0].find("not permitted when stream is capturing"), std::string::npos);
  EXPECT_EQ(warnings.lines[0].find("second line"), std::string::npos);
  const int replays = recorder_->replays;
  call(graphs, {4});
  EXPECT_EQ(recorder_->replays, replays + 1) << "what is recorded stays good";
}

TEST_F(GraphRunnerTest, DemandedGraphsFailAloud) {
  GraphRunner graphs = runner(CudaGraphMode::on);
  recorder_->fails = true;
  for (int i = 0; i < GraphRunner::kPlainPasses; ++i) call(graphs, {5});
  const Tensors in{at::ones({5}), at::ones({5})};
  try {
    graphs.run(both_.function(), in);
    FAIL() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device);
    EXPECT_NE(error.message().find("not permitted"), std::string::npos);
    EXPECT_EQ(error.where(), "--cuda-graph on");
    EXPECT_EQ(error.hint(), "use --cuda-graph auto");
  }
  recorder_->fails = false;
  call(graphs, {5});
  EXPECT_EQ(graphs.recorded(), 1U);
}

TEST_F(GraphRunnerTest, SwitchedOffRecordsNothing) {
  GraphRunner graphs = runner(CudaGraphMode::off);
  call_often(graphs, {4});
  EXPECT_EQ(recorder_->attempts, 0);
  EXPECT_EQ(both_.calls, GraphRunner::kPlainPasses + 1);
}

TEST_F(GraphRunnerTest, CpusHaveNoGraphs) {
  GraphRunner graphs(CudaGraphMode::automatic, at::kCPU);
  call_often(graphs, {4});
  EXPECT_EQ(graphs.recorded(), 0U);
  try {
    GraphRunner(CudaGraphMode::on, at::kCPU);
    FAIL() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::device);
    EXPECT_NE(error.message().find("runs on cpu"), std::string::npos);
  }
}

TEST_F(GraphRunnerTest, ErrorsOfTheFunctionPass) {
  GraphRunner graphs = runner();
  const auto bad = [](const Tensors&) -> Tensors { throw Error(ErrorKind::usage, "no such size"); };
  for (int i = 0; i < 5; ++i) EXPECT_THROW(graphs.run(bad, {at::ones({2})}), Error);
}

TEST_F(GraphRunnerTest, KeepsWhatARecordedFunctionOwns) {
  GraphRunner graphs = runner();
  std::weak_ptr<int> watched;
  {
    const auto owned = std::make_shared<int>(3);
    watched = owned;
    const auto function = [owned](const Tensors& in) { return Tensors{in[0] * *owned}; };
    for (int i = 0; i <= GraphRunner::kPlainPasses; ++i) graphs.run(function, {at::ones({2})});
  }
  EXPECT_FALSE(watched.expired());
  const auto unused = [](const Tensors&) { return Tensors{}; };
  EXPECT_EQ(graphs.run(unused, {at::ones({2})})[0].sum().item<float>(), 6);
}

TEST_F(GraphRunnerTest, RecordsNoGradients) {
  GraphRunner graphs = runner();
  const at::Tensor x = at::ones({2}).requires_grad_();
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(graphs.run(both_.function(), {x, x})[0].requires_grad());
}

TEST(CudaGraphModes, AreReadWhole) {
  EXPECT_EQ(parse_cuda_graph_mode("auto"), CudaGraphMode::automatic);
  EXPECT_EQ(parse_cuda_graph_mode("on"), CudaGraphMode::on);
  EXPECT_EQ(parse_cuda_graph_mode("off"), CudaGraphMode::off);
  for (const char* bad : {"", "On", "on ", "yes"}) EXPECT_THROW(parse_cuda_graph_mode(bad), Error);
}

}  // namespace
}  // namespace ttt
