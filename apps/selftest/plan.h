// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/selftest/options.h"
#include "core/device.h"
#include "kernels/selftest.h"

#include <string>
#include <string_view>
#include <vector>

namespace ttt::cli {

/// One op or model in one type, and the implementations that are compared.
struct Check {
  bool is_op = true;
  std::string name;
  at::ScalarType dtype = at::ScalarType::Float;
  std::vector<ops::Variant> variants;
};

struct UnavailableVariant {
  ops::Variant variant;
  std::string reason;
};

/// What a self-test does.
struct SelftestPlan {
  std::vector<Check> checks;
  std::vector<UnavailableVariant> unavailable;
  DeviceChoice device;  ///< the GPU of the cuda backend, or the CPU and why

  std::size_t comparisons() const;
};

/// Throws Error(usage) for names that don't exist, and Error(device) when a backend or device is
/// asked for and not available, or nothing runs in what was asked for.
SelftestPlan make_plan(const SelftestOptions& options);

/// Runs one check; a result for each of its variants.
std::vector<ops::CheckResult> run_check(const Check& check, bool full);

/// "fp32", "bf16", "fp16"; the others as LibTorch calls them.
std::string type_name(at::ScalarType type);

}  // namespace ttt::cli
