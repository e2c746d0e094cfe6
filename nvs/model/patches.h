// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvs/model/posed_views.h"

namespace ttt::nvs {

/// The operand of the patch embedding, [V, n, P*P*12] in `dtype` on the cameras' device: token =
/// row * (W / P) + column, feature = (y * P + x) * 12 + channel. The ray channels are computed in
/// their places; nothing of the size of the pictures exists beside it. `images` undefined: zeros in
/// the last three channels. Throws Error(usage) for sizes that are no multiples of P and shapes
/// that don't fit.
at::Tensor patch_operand(const CameraTensors& cameras, const at::Tensor& images,
                         std::int64_t patch_size, at::ScalarType dtype);

/// Pictures [V, 3, H, W] from the decoder's [V, n, P*P*3].
at::Tensor unpatchify(const at::Tensor& patches, std::int64_t height, std::int64_t width,
                      std::int64_t patch_size);

/// Throws Error(usage), with the nearest legal size, unless both sides are positive multiples of P.
/// `flag`: what gave the size.
void check_picture_size(std::int64_t width, std::int64_t height, std::int64_t patch_size,
                        const char* flag = "--size");

}  // namespace ttt::nvs
