// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/rope_2d/backends.h"

#include <ATen/ATen.h>

namespace ttt::ops::reference {

void rope_2d(const at::Tensor& x, const RopeTable& table, bool inverse, const at::Tensor& out) {
  const at::Tensor xd = x.to(at::kDouble).contiguous();
  const at::Tensor result = at::empty_like(xd);
  const double* in = xd.data_ptr<double>();
  double* turned = result.data_ptr<double>();
  const std::int64_t pairs_per_axis = table.channels() / 4, width = table.width();
  for (std::int64_t b = 0; b < x.size(0); ++b)
    for (std::int64_t n = 0; n < x.size(1); ++n)
      for (std::int64_t pair = 0; pair < 2 * pairs_per_axis; ++pair) {
        const bool row_axis = pair < pairs_per_axis;
        const std::int64_t position = row_axis ? n / width : n % width;
        const std::int64_t entry =
            position * pairs_per_axis + (row_axis ? pair : pair - pairs_per_axis);
        const double cosine =
            (row_axis ? table.row_cos : table.column_cos).data_ptr<float>()[entry];
        double sine = (row_axis ? table.row_sin : table.column_sin).data_ptr<float>()[entry];
        if (inverse) sine = -sine;
        const std::int64_t first = (b * x.size(1) + n) * x.size(2) + 2 * pair;
        turned[first] = in[first] * cosine - in[first + 1] * sine;
        turned[first + 1] = in[first] * sine + in[first + 1] * cosine;
      }
  out.copy_(result);
}

}  // namespace ttt::ops::reference
