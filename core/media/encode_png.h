// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/media/image.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ttt {

/// A key and a text that are kept inside a PNG. Keys: 1 to 79 characters of Latin-1.
using PngText = std::pair<std::string, std::string>;

/// An 8-bit RGB PNG file, with texts as iTXt chunks (UTF-8). Throws Error(internal) for an empty
/// picture and Error(memory).
std::string encode_png(const Image& image, std::span<const PngText> texts = {});

/// The texts that encode_png() put into a PNG file (uncompressed iTXt chunks), in order. Other
/// chunks and damage end the list or are passed over; never fails.
std::vector<PngText> png_texts(std::span<const std::uint8_t> bytes);

}  // namespace ttt
