// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/parity.h"
#include "kernels/support/cpu_isa.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ttt::ops {

/// An implementation that is compared with the reference.
struct Variant {
  Backend backend = Backend::cpu;
  std::optional<CpuIsa> isa;  ///< of Backend::cpu; nothing: the one in use
  c10::Device device{c10::DeviceType::CPU};
};

/// "cpu avx2", "cuda", "reference".
std::string to_string(const Variant& variant);

/// Among compared tensors of one type the one that comes closest to its tolerance, or is furthest
/// beyond it.
struct Deviation {
  at::ScalarType type;
  double error = 0;      ///< relative to the largest value; infinite for values that are not finite
  double tolerance = 1;  ///< positive
  std::string where;     ///< case and tensor
  bool within() const { return error <= tolerance; }
  double share() const { return error / tolerance; }
};

/// Takes an error into the list's entry of this type. An error that is NaN counts as infinite.
void record(std::vector<Deviation>& deviations, const Deviation& deviation);

/// Compares by relative_to_max and records. Values that are not finite, another shape or another
/// type give an infinite error, whatever the reference has there.
void record(std::vector<Deviation>& deviations, const at::Tensor& actual,
            const at::Tensor& expected, double tolerance, const std::string& where);

/// The entry with the largest error for its tolerance; null for an empty list.
const Deviation* worst(const std::vector<Deviation>& deviations);

/// What came out of the comparison of one implementation with the reference, in one type.
struct CheckResult {
  std::vector<Deviation> outputs;    ///< one entry a type
  std::vector<Deviation> gradients;  ///< one entry a type
  std::int64_t cases = 0;
  std::string problem;  ///< what else went wrong first: an exception, a changed input

  bool passed() const;
};

/// Types in which an op can be checked on a backend. Those of the reference are the floating types
/// a model can run in.
std::vector<at::ScalarType> checked_types(const Op& op, Backend backend);

/// Runs all cases of an op with inputs of this type, forward and gradients, on each variant, and
/// compares with the reference; the reference itself is compared with its result in double. Large
/// cases run only if asked for, forward only, and not on the reference alone. What a variant throws
/// becomes its `problem`; throws itself only when memory runs out, and Error(interrupted) after a
/// request to stop.
std::vector<CheckResult> check_op(const Op& op, at::ScalarType dtype,
                                  const std::vector<Variant>& variants, bool large = false);

/// Runs a call; the one-line reason when it fails, else empty. Shortage of memory is thrown on.
std::string failure_of(const std::function<void()>& call);

}  // namespace ttt::ops
