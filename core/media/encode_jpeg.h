// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/media/image.h"

#include <string>

namespace ttt {

/// A baseline JPEG file with full-size chroma; quality is libjpeg's, 1 to 100. Throws
/// Error(internal) for an empty picture or one with a side above 65,500, and Error(memory).
std::string encode_jpeg(const Image& image, int quality);

}  // namespace ttt
