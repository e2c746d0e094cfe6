// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/parity.h"

#include "tests/support/compare.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace ttt::test {

void expect_equal(const Tensors& actual, const Tensors& expected, const Tolerance& tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(actual[i].scalar_type(), expected[i].scalar_type());
    ASSERT_EQ(actual[i].sizes(), expected[i].sizes());
    EXPECT_LE(relative_to_max(actual[i], expected[i]), tolerance(expected[i].scalar_type()))
        << "output " << i << ": " << is_close(actual[i], expected[i], 1e-3).message();
  }
}

const ops::Op& op_of(std::string_view name) {
  for (const ops::Op& op : ops::registry())
    if (op.name == name) return op;
  throw std::runtime_error("no such op");
}

std::vector<std::string> op_names() {
  std::vector<std::string> names;
  for (const ops::Op& op : ops::registry()) names.emplace_back(op.name);
  return names;
}

}  // namespace ttt::test
