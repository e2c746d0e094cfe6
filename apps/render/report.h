// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/common/result_format.h"
#include "nvs/model/renderer.h"

#include <memory>
#include <span>
#include <string>

namespace ttt::cli {

/// Rows in the form that was asked for; `perceptual`: they have an LPIPS.
std::unique_ptr<ResultRenderer> make_render_renderer(ResultFormat format, bool perceptual);

/// Reports of the updates as JSON, in the order of the layers.
nlohmann::ordered_json inner_json(std::span<const nvs::FastWeightReport> reports);

}  // namespace ttt::cli
