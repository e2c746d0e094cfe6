// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/weights/weight_file.h"
#include "vision/classification_model.h"
#include "vision/model_catalog.h"

#include <map>
#include <string>

namespace ttt::test {

using TensorMap = std::map<std::string, at::Tensor>;

/// Every tensor of a weight file.
TensorMap read_all(const std::filesystem::path& path);

/// A model of this architecture in evaluation mode, its weights by the reproducible fill of
/// tests/support/fill.h under their state-dict names.
std::shared_ptr<vision::ClassificationModel> filled_model(const vision::ModelSpec& spec);

/// The model that a weight file holds, in evaluation mode, as stored (nothing folded).
std::shared_ptr<vision::ClassificationModel> loaded_model(const std::filesystem::path& path,
                                                          const std::string& weights_key = {});

/// Runs a model without gradients and collects copies of its traced intermediates.
struct TracedRun {
  vision::ClassificationOutput output;
  TensorMap trace;
};
TracedRun run_traced(const vision::ClassificationModel& model, const at::Tensor& images,
                     ops::Backend backend = ops::Backend::automatic);

}  // namespace ttt::test
