// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/fuzz/mutate.h"

#include <optional>
#include <string>
#include <string_view>

namespace ttt::fuzz {

/// Window bits of zlib's functions.
enum class Wrapping { zlib = 15, none = -15 };

/// The unpacked data; nothing when it is damaged or larger than a mutant may be.
std::optional<std::string> inflate_bytes(std::string_view packed, Wrapping wrapping);
std::string deflate_bytes(std::string_view bytes, Wrapping wrapping, int level);

}  // namespace ttt::fuzz
