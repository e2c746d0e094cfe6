// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/weights/weight_file.h"

#include <ATen/core/Tensor.h>

#include <functional>
#include <span>

namespace ttt {

/// A parameter or buffer of a model that wants a value. The destination may be on any device.
struct ParameterSlot {
  std::string name;
  at::Tensor destination;
};

/// Patterns may hold `*` (any characters, dots included) and `?` (one character).
struct LoadOptions {
  std::vector<std::string> allow_missing;     ///< --allow-missing
  std::vector<std::string> allow_unexpected;  ///< --allow-unexpected
  /// Names that the model itself doesn't want loaded although files may hold them, such as
  /// "*rope.rotations"; neither missing nor unexpected.
  std::vector<std::string> ignored;
  bool allow_non_finite = false;
  /// Called when names, shapes or types don't fit; its text becomes the hint of the error, such as
  /// "these are the weights of hvit3_s; use --model hvit3_s". May be empty, may return "".
  std::function<std::string()> suggestion;
};

/// What load_state_dict() did, by name.
struct LoadReport {
  std::size_t loaded = 0;
  std::vector<std::string> converted;   ///< loaded in another floating type than stored
  std::vector<std::string> missing;     ///< absent and allowed to be
  std::vector<std::string> unexpected;  ///< present, not wanted, and allowed to be
  std::vector<std::string> ignored;     ///< present and ignored by the model
};

/// One line for the log.
std::string summary(const LoadReport& report);

/// Fills the slots from the file: names and shapes must agree exactly; floating types are converted
/// to the destination's, other types must agree. All of this is checked before the first
/// destination changes; otherwise throws one Error(weights) that groups what doesn't fit: missing,
/// unexpected, shape and type, the first ten names of each and their number. Values that are not
/// finite after conversion are found while loading and throw at the end (Error(weights)); the
/// destinations are then of no use.
LoadReport load_state_dict(const WeightFile& file, std::span<const ParameterSlot> slots,
                           const LoadOptions& options = {});

/// Number of elements that are NaN or infinite; zero for integer types.
std::int64_t count_non_finite(const at::Tensor& tensor);

/// True if a name matches one of the patterns.
bool matches_any(const std::string& name, const std::vector<std::string>& patterns);

}  // namespace ttt
