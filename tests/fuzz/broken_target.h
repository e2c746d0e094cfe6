// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/fuzz/target.h"

namespace ttt::fuzz {

/// A reader with every fault that the fuzzer must find; the input names one.
const Target& broken_target();

}  // namespace ttt::fuzz
