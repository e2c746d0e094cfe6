// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ttt::vision {

/// Counts over labelled predictions. All rates are fractions of the counted items.
class Accuracy {
 public:
  explicit Accuracy(std::int64_t classes);
  /// `best` holds class indices by falling score, at least min(5, classes) of them.
  void add(std::int64_t truth, std::span<const std::int64_t> best);

  std::int64_t count() const { return count_; }
  double top1() const;
  double top5() const;
  std::int64_t classes() const { return classes_; }
  /// Items of a class, and how many of them were predicted as `predicted`.
  std::int64_t class_count(std::int64_t truth) const;
  std::int64_t confusion(std::int64_t truth, std::int64_t predicted) const;

 private:
  std::int64_t classes_;
  std::int64_t count_ = 0, top1_ = 0, top5_ = 0;
  std::vector<std::int64_t> confusion_;  // [truth, predicted]
};

}  // namespace ttt::vision
