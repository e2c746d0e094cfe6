// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/apps/effects.h"

namespace ttt::test {

/// The effects of `ttt view`'s flags.
std::map<std::string, Effect> view_effects();

}  // namespace ttt::test
