// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/bench/plan.h"

#include <functional>
#include <memory>

namespace ttt::vision {
class Classifier;
}

namespace ttt::cli {

class NovelViewShop;

/// A subject with its tensors, ready to run.
struct Workload {
  std::function<void()> pass;     ///< returns when the result is there, on GPUs too
  double operations = 0;          ///< floating-point operations of a pass; 0: not counted
  double bytes = 0;               ///< that an ideal pass reads and writes; 0: not counted
  std::int64_t first_passes = 0;  ///< that do more than the later ones
};

/// Makes workloads; keeps the last model, which a sweep asks for again.
class Workshop {
 public:
  /// Takes the model that the plan has loaded.
  explicit Workshop(BenchPlan& plan);
  /// Throws Error(memory) when the pass would need more than is free.
  Workload make(const Subject& subject);

 private:
  Workload make_op(const Subject& subject) const;
  Workload make_forward(const Subject& subject);
  Workload make_training(const Subject& subject) const;

  c10::Device device_;
  CudaGraphMode cuda_graph_;
  std::shared_ptr<vision::Classifier> classifier_;
  std::string loaded_;  ///< which it is
  std::shared_ptr<NovelViewShop> novel_views_;
};

}  // namespace ttt::cli
