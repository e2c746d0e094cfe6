// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/media/image.h"
#include "nvs/output/metrics.h"

#include <span>
#include <string>
#include <vector>

namespace ttt::nvs {

/// One picture of an overview with a line under it.
struct SheetPicture {
  Image image;
  std::string caption;
};

struct SheetTarget {
  Image rendered;
  Image truth;
  ViewMetrics metrics;
};

/// An overview of a run: the inputs in rows, then for each target rendered, truth and error map.
/// Pictures narrower than 160 pixels are enlarged without a filter. At most 64 inputs and 64
/// targets are shown, which the headings say.
Image contact_sheet(std::span<const SheetPicture> inputs, std::span<const SheetTarget> targets);

/// The largest absolute difference of the channels as a colour: black 0, through violet, red and
/// yellow to white at `full_scale` (in 0 to 1) and above.
Image error_map(const Image& rendered, const Image& truth, double full_scale = 0.5);

}  // namespace ttt::nvs
