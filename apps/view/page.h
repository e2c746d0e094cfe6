// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace ttt::cli {

struct PageFile {
  std::string_view path;  ///< "/", "/view.js", …
  std::string_view type;  ///< its media type
  std::string_view content;
};

/// The files of the viewer's page; apps/view/page has them.
std::span<const PageFile> page_files();

}  // namespace ttt::cli
