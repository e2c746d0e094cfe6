// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/cuda_graph/recorder.h"

#include <c10/util/Exception.h>

#include <utility>

namespace ttt::test {

/// Records by keeping the function, and replays by calling it: graphs without a GPU.
class FakeGraphRecorder : public GraphRecorder {
 public:
  std::unique_ptr<RecordedGraph> record(c10::Device, const std::function<void()>& body) override {
    ++attempts;
    body();
    TORCH_CHECK(!fails, "operation not permitted when stream is capturing\nsecond line");
    return std::make_unique<Graph>(body, *this);
  }

  int attempts = 0, alive = 0, replays = 0;
  bool fails = false;

 private:
  class Graph : public RecordedGraph {
   public:
    Graph(std::function<void()> body, FakeGraphRecorder& recorder)
        : body_(std::move(body)), recorder_(recorder) {
      ++recorder_.alive;
    }
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;
    ~Graph() override { --recorder_.alive; }
    void replay() override {
      ++recorder_.replays;
      body_();
    }

   private:
    std::function<void()> body_;
    FakeGraphRecorder& recorder_;
  };
};

}  // namespace ttt::test
