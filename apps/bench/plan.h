// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/bench/options.h"
#include "core/cuda_graph/graph_runner.h"
#include "core/device.h"
#include "kernels/support/backend.h"

#include <compare>
#include <memory>
#include <string>
#include <vector>

namespace ttt::nvs {
class LvsmModel;
}

namespace ttt::cli {

/// One thing to measure.
struct Subject {
  bool is_op = true;
  std::string name;     ///< of the operation, preset, or model in the weight file
  std::string op_case;  ///< name of the call; of models, only those of novel views have one
  bool novel_views = false;
  std::string weights;    ///< of a model; empty: random
  bool training = false;  ///< gradients too
  ops::Backend backend = ops::Backend::automatic;
  at::ScalarType dtype = at::ScalarType::Float;
  int threads = 1;
  // Of models; 0 for operations. The batch of a model of novel views is its views.
  std::int64_t batch = 0, width = 0, height = 0;

  auto operator<=>(const Subject&) const = default;
};

struct BenchPlan {
  std::vector<Subject> subjects;
  DeviceChoice device;
  /// The model of novel views in --weights; null when they hold none.
  std::shared_ptr<nvs::LvsmModel> novel_view_model;
  CudaGraphMode cuda_graph = CudaGraphMode::automatic;  ///< of classifiers' forward passes
};

/// Every combination of what is asked for, once: a name, an alias and a value that come to the same
/// are one subject. Throws Error(usage) for names and values that don't
/// exist, Error(weights) for a bad weight file, Error(device) when the device is not available or
/// nothing asked for runs on it.
BenchPlan make_bench_plan(const BenchOptions& options);

/// "fp32", "bf16", "fp16".
std::string bench_type_name(at::ScalarType type);

}  // namespace ttt::cli
