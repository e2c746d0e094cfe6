// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/classify/models.h"

#include "vision/model_catalog.h"

namespace ttt::cli {

nlohmann::ordered_json list_models() {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const vision::ModelPreset& preset : vision::model_presets())
    list.push_back({{"name", preset.name},
                    {"official_name", preset.official_name},
                    {"about", preset.summary}});
  return list;
}

std::string recognised_model(const WeightFile& file) {
  return vision::describe_weights({file.tensors(), file.metadata(), file.path().string()});
}

}  // namespace ttt::cli
