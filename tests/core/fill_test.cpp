// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fill.h"

#include <gtest/gtest.h>

namespace ttt::test {
namespace {

TEST(Fill, HasThePublishedValues) {
  EXPECT_NEAR(fill_value("a", 0), -0.79294757, 1e-8);
  EXPECT_NEAR(fill_value("a", 1), -0.66869830, 1e-8);
  EXPECT_NEAR(fill_value("a", 2), 0.43066143, 1e-8);
  EXPECT_NEAR(fill_value("a", 3), -0.91144083, 1e-8);
}

}  // namespace
}  // namespace ttt::test
