// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/dtype.h"

#include <c10/core/ScalarType.h>

#include <optional>

namespace ttt {

at::ScalarType scalar_type(DType dtype);
/// Nothing for complex, quantised and other types that weight files of ours can't hold.
std::optional<DType> dtype_of(at::ScalarType type);

}  // namespace ttt
