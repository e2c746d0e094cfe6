// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ttt::inputs {

/// The bytes of a whole file (or pipe) of up to 2 GiB. Throws Error(input), with the near miss as
/// its hint when there is no such file.
std::vector<std::uint8_t> read_file(const std::string& path);

}  // namespace ttt::inputs
