// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/media/decode.h"
#include "core/media/preprocess.h"

#include <functional>
#include <span>
#include <string_view>

/// The way from a picture file to a crop for those who need no more of the picture than that.
namespace ttt {

/// A part of a picture, and where in the whole it lies.
struct ImagePart {
  Image pixels;
  int left = 0;
  int top = 0;
  int whole_width = 0;
  int whole_height = 0;
};

/// Given the size of an upright picture, which of its pixels are needed.
using NeededPixels = std::function<PixelRect(int width, int height)>;

/// decode_image(), but of the pixels at least those that are needed, which is faster for some
/// files. Damage to the others is found all the same. Exceptions of `needed` pass through.
ImagePart decode_image_part(std::span<const std::uint8_t> bytes, DecodeMode mode,
                            std::string_view name, const NeededPixels& needed,
                            DecodeLimits limits = {});

/// The pixels of a picture that resize_window() reads.
PixelRect window_source(int image_width, int image_height, int width, int height, PixelRect window,
                        ResizeFilter filter);

/// resize_window() from a part of the picture. Throws Error(internal) when it lacks pixels of
/// window_source().
Image resize_window(const ImagePart& part, int width, int height, PixelRect window,
                    ResizeFilter filter);

/// The pixels of a picture that resize_and_crop() reads. Throws as plan_resize() does.
PixelRect preprocess_source(int image_width, int image_height, const PreprocessOptions& options);

/// resize_and_crop() from a part of the picture. Throws Error(internal) when it lacks pixels of
/// preprocess_source().
Image resize_and_crop(const ImagePart& part, const PreprocessOptions& options);

}  // namespace ttt
