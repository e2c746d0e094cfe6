// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/paths.h"

#include <string>
#include <vector>

namespace ttt::test {

/// Writes a result of `ttt bench` with these times of one operation at 1, 2, … threads; its path.
std::string write_bench_result(const TempDir& folder, const std::string& name,
                               const std::vector<double>& times);

}  // namespace ttt::test
