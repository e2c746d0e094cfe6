// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/compare.h"

#include <ATen/ATen.h>

#include <string>

namespace ttt::test {
namespace {

std::string index_text(const at::Tensor& tensor, std::int64_t flat) {
  std::string text = "]";
  for (std::int64_t axis = tensor.dim() - 1; axis >= 0; --axis) {
    text = std::to_string(flat % tensor.size(axis)) + (text == "]" ? "" : ", ") + text;
    flat /= tensor.size(axis);
  }
  return "[" + text;
}

}  // namespace

testing::AssertionResult is_close(const at::Tensor& actual, const at::Tensor& expected,
                                  double tolerance) {
  if (actual.sizes() != expected.sizes())
    return testing::AssertionFailure()
           << "shapes differ: " << actual.sizes() << " and " << expected.sizes();
  if (actual.numel() == 0) return testing::AssertionSuccess();
  const at::Tensor a = actual.to(at::kDouble).contiguous().flatten();
  const at::Tensor e = expected.to(at::kDouble).contiguous().flatten();
  if (!a.isnan().equal(e.isnan())) return testing::AssertionFailure() << "NaNs stand elsewhere";
  const at::Tensor floor = e.nan_to_num(0.0).abs().mean();
  const at::Tensor scale = at::maximum(at::maximum(a.abs(), e.abs()), floor);
  // Equal elements count as error 0, also where both are 0 or both infinite.
  const at::Tensor error = at::where(a == e, at::zeros_like(a), (a - e).abs() / scale);
  const std::int64_t worst = error.nan_to_num(0.0).argmax().item<std::int64_t>();
  const double largest = error[worst].item<double>();
  if (largest <= tolerance) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "element " << index_text(actual, worst) << ": " << a[worst].item<double>()
         << ", expected " << e[worst].item<double>() << "; relative error " << largest << " > "
         << tolerance;
}

}  // namespace ttt::test
