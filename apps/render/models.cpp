// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/render/models.h"

#include "nvs/model/config.h"

#include <algorithm>

namespace ttt::cli {

nlohmann::ordered_json list_lvsm_models() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const nvs::LvsmPreset& preset : nvs::lvsm_presets())
    list.push_back(
        {{"name", preset.name}, {"official_name", preset.name}, {"about", preset.summary}});
  return list;
}

std::string recognised_lvsm(const std::vector<TensorInfo>& tensors) {
  if (const auto derived = nvs::derive_lvsm_config(tensors)) return derived->config.name();
  const bool state =
      !tensors.empty() && std::all_of(tensors.begin(), tensors.end(), [](const auto& t) {
        const std::size_t dot = t.name.rfind('.');
        const std::string part = dot == std::string::npos ? "" : t.name.substr(dot + 1);
        return t.shape.size() == 4 && (part.starts_with("w") || part.starts_with("norm"));
      });
  return state ? "fast weights (a saved state)" : "";
}

}  // namespace ttt::cli
