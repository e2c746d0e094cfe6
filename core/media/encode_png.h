// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/media/image.h"

#include <string>

namespace ttt {

/// The picture as a PNG file: 8-bit RGB, lossless. Throws Error(internal) for a picture without
/// pixels.
std::string encode_png(const Image& image);

}  // namespace ttt
