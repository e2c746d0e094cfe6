// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/accuracy.h"

#include "core/error.h"

#include <algorithm>
#include <numeric>

namespace ttt::vision {
namespace {

constexpr std::size_t kTopFive = 5;

double fraction(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

}  // namespace

Accuracy::Accuracy(std::int64_t classes)
    : classes_(classes), confusion_(static_cast<std::size_t>(classes * classes), 0) {}

void Accuracy::add(std::int64_t truth, std::span<const std::int64_t> best) {
  TTT_CHECK(truth >= 0 && truth < classes_ && !best.empty(), internal, "class out of range",
            "Accuracy::add");
  ++count_;
  if (best.front() == truth) ++top1_;
  const auto five = best.first(std::min(best.size(), kTopFive));
  if (std::find(five.begin(), five.end(), truth) != five.end()) ++top5_;
  ++confusion_[static_cast<std::size_t>(truth * classes_ + best.front())];
}

double Accuracy::top1() const {
  return fraction(top1_, count_);
}
double Accuracy::top5() const {
  return fraction(top5_, count_);
}

std::int64_t Accuracy::class_count(std::int64_t truth) const {
  const auto row = confusion_.begin() + truth * classes_;
  return std::accumulate(row, row + classes_, std::int64_t{0});
}

std::int64_t Accuracy::confusion(std::int64_t truth, std::int64_t predicted) const {
  return confusion_[static_cast<std::size_t>(truth * classes_ + predicted)];
}

}  // namespace ttt::vision
