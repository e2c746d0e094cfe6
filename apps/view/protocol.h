// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvs/viewer/orbit.h"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

/// What page and server tell each other.
namespace ttt::cli {

/// {"pivot": [x, y, z], "yaw", "pitch", "roll", "distance", "field_of_view", "stretch", "shift":
/// [x, y]}.
nlohmann::ordered_json view_json(const nvs::OrbitView& view);

struct FrameRequest {
  std::string client;  ///< 1 to 64 letters, digits and dashes
  std::int64_t sequence = 0;
  bool draft = false;
  nvs::OrbitView view;
};
/// Throws Error(usage) for what isn't one.
FrameRequest parse_frame_request(const std::string& body);

/// The views of {"views": [...]}, 1 to 10000. Throws Error(usage).
std::vector<nvs::OrbitView> parse_views(const std::string& body);

/// Whether a request with this Host header is for us: addresses, localhost and the allowed names,
/// with any port.
bool host_allowed(std::string_view header, const std::vector<std::string>& allowed);

}  // namespace ttt::cli
