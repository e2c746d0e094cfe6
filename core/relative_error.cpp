// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/relative_error.h"

#include <ATen/ATen.h>

#include <limits>

namespace ttt {

double relative_to_max(const at::Tensor& actual, const at::Tensor& expected) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (actual.sizes() != expected.sizes()) return kInfinity;
  if (actual.numel() == 0) return 0;
  const at::Tensor a = actual.to(at::kDouble), e = expected.to(at::kDouble);
  if (!a.isnan().equal(e.isnan())) return kInfinity;
  const double difference = (a - e).nan_to_num(0.0).abs().max().item<double>();
  const double scale = e.nan_to_num(0.0).abs().max().item<double>();
  if (difference == 0) return 0;
  return scale > 0 ? difference / scale : kInfinity;
}

}  // namespace ttt
