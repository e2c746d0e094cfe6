// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/render/options.h"

#include <optional>
#include <string>
#include <vector>

namespace ttt::cli {

/// What `ttt view` can be told.
struct ViewOptions {
  /// What it has in common with `ttt render`; the rest stays at its default.
  RenderOptions render;
  std::optional<PixelSize> drag_size;
  std::string host = "127.0.0.1";
  std::int64_t port = 8080;
  std::vector<std::string> allow_host;
};

/// The option table; `options` must outlive it.
OptionTable view_table(ViewOptions& options);

}  // namespace ttt::cli
