// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/classification_model.h"

#include "core/error.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace ttt::vision {
namespace {

std::int64_t nearest_multiple(std::int64_t value, std::int64_t multiple) {
  return std::max<std::int64_t>(1, (value + multiple / 2) / multiple) * multiple;
}

}  // namespace

void check_image_size(std::int64_t width, std::int64_t height, std::int64_t multiple) {
  if (width > 0 && height > 0 && width % multiple == 0 && height % multiple == 0) return;
  throw Error(
      ErrorKind::usage,
      fmt::format("the model can't take pictures of {}x{}: both sides must be multiples of {}",
                  width, height, multiple),
      "--size",
      fmt::format("the nearest size is {}x{}", nearest_multiple(width, multiple),
                  nearest_multiple(height, multiple)));
}

}  // namespace ttt::vision
