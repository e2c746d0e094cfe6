// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/common/result_format.h"
#include "apps/selftest/plan.h"

#include <map>

namespace ttt::cli {

/// The row of one comparison, as in JSON lines.
nlohmann::ordered_json comparison_row(const Check& check, const ops::Variant& variant,
                                      const ops::CheckResult& result);
nlohmann::ordered_json unavailable_row(const UnavailableVariant& unavailable);

/// Renders such rows; the table is as wide as the plan's names ask for.
std::unique_ptr<ResultRenderer> make_selftest_renderer(ResultFormat format,
                                                       const SelftestPlan& plan);

/// Counts comparisons and remembers what failed.
class SelftestTally {
 public:
  void add(const Check& check, const ops::Variant& variant, const ops::CheckResult& result);
  std::size_t done() const { return done_; }
  std::size_t failed() const { return failed_; }
  /// Names of ops, or without any of models, with a failure; a model fails when its ops do.
  std::vector<std::string> culprits() const;
  /// Throws Error(check) for the worst failure, naming what culprits() holds. Nothing without one.
  void throw_failure() const;

 private:
  struct Failure {
    std::string what, where;
    double share = 0;  ///< of the tolerance
    bool in_reference = false;
  };
  std::size_t done_ = 0, failed_ = 0;
  std::map<std::string, Failure> ops_, models_;  ///< the worst of each
};

}  // namespace ttt::cli
