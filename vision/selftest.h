// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/selftest.h"

#include <string>
#include <string_view>
#include <vector>

namespace ttt::vision {

/// A model of the self-test: an architecture with random weights, and pictures for it.
struct CheckedModel {
  std::string_view name;  ///< of a preset, or of a shipped training configuration
  std::string about;      ///< dimensions and size of the pictures
  bool quick = false;     ///< fast enough for every self-test
};

std::vector<CheckedModel> checked_models();

/// Types that models are checked in, on any backend.
std::vector<at::ScalarType> checked_model_types();

/// Runs a model of checked_models() with weights and pictures of this type, forward and gradients
/// of all parameters, on each variant, and compares with the reference backend. Problems are
/// reported as by ops::check_op. Throws Error(usage) for an unknown name.
std::vector<ops::CheckResult> check_model(std::string_view name, at::ScalarType dtype,
                                          const std::vector<ops::Variant>& variants);

}  // namespace ttt::vision
