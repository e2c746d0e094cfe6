// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/classify/options.h"
#include "vision/classify_job.h"

#include <nlohmann/json.hpp>

#include <future>
#include <optional>
#include <string>

namespace ttt::cli {

/// A loaded model with everything that was decided for the run.
struct ClassifySetup {
  vision::Classifier classifier;
  vision::LabelSet labels;
  vision::ClassifyJobOptions job;
  DeviceChoice device;
  c10::ScalarType dtype = c10::ScalarType::Float;
  std::uint64_t seed = 0;
  std::string preprocess_origin;
  /// Hash of the weight file, computed beside other work; not valid when it isn't wanted.
  std::shared_future<std::string> weights_hash;
};

DecodeMode decode_mode(const ClassifyOptions& options);

/// Applies the options that concern LibTorch, chooses the device, loads the model and resolves the
/// pre-processing: flags, then the weights' metadata, then published defaults. The hash of the
/// weights costs a reading of the whole file, so it is computed only when `with_hash`.
ClassifySetup set_up(const ClassifyOptions& options, bool with_hash);

/// Tells on the log what will be done.
void announce(const ClassifySetup& setup, const ClassifyOptions& options, std::size_t pictures);

/// Model, weights, pre-processing, device and the like, for summaries and run records. Reads the
/// whole weight file, once, for its hash.
nlohmann::ordered_json describe(const ClassifySetup& setup, const ClassifyOptions& options);

/// Bytes that classifying so many pictures needs at its peak.
std::int64_t memory_need(const ClassifySetup& setup, std::size_t pictures);
/// Throws Error(memory) with advice when the need is larger than what is there.
void check_memory(const ClassifySetup& setup, std::size_t pictures);

}  // namespace ttt::cli
