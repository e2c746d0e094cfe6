// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/weights/weight_file.h"

#include <functional>
#include <iosfwd>

namespace ttt::cli {

/// Names the model that a weight file holds ("hvit3_s", …), or returns "".
using ModelRecogniser = std::function<std::string(const WeightFile&)>;

enum class InspectFormat { text, json };

struct InspectOptions {
  std::filesystem::path path;
  std::string weights_key;
  InspectFormat format = InspectFormat::text;
  ModelRecogniser recognise;  ///< may be empty
};

/// `ttt inspect`: prints what a weight file holds without loading tensors: container, dictionary,
/// model, metadata, skipped objects, and each tensor's name, type, shape and size. The JSON form is
/// one line with an object of `schema` 1. Throws Error(weights).
void run_inspect(const InspectOptions& options, std::ostream& output);

}  // namespace ttt::cli
