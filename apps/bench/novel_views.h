// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/bench/plan.h"
#include "apps/bench/workload.h"

#include <array>
#include <memory>
#include <string>
#include <string_view>

namespace ttt::nvs {
class LvsmModel;
class LvsmRenderer;
struct LvsmConfig;
}  // namespace ttt::nvs

namespace ttt::cli {

/// What is measured of a LaCT-LVSM model: one update with all input views, and target views from
/// given fast weights. Both take --batch views.
inline constexpr std::array<std::string_view, 2> kNovelViewCalls{"reconstruct", "render"};

/// Whether this names such a model.
bool is_novel_view_model(const std::string& name);

/// The model in a weight file; null when that holds another kind. Throws Error(weights) for a bad
/// file.
std::shared_ptr<nvs::LvsmModel> load_novel_view_model(const std::string& weights);

/// For files that see no more of a model.
const nvs::LvsmConfig& novel_view_config(const nvs::LvsmModel& model);

/// Keeps the last model.
class NovelViewShop {
 public:
  /// `loaded` is the model of the plan's weights, if they hold one.
  NovelViewShop(c10::Device device, std::shared_ptr<nvs::LvsmModel> loaded)
      : device_(device), plan_model_(std::move(loaded)) {}
  /// Throws Error(memory) when the model or the pass would need more than is free.
  Workload make(const Subject& subject);
  void forget();

 private:
  std::shared_ptr<nvs::LvsmModel> model_of(const Subject& subject);

  c10::Device device_;
  std::shared_ptr<nvs::LvsmModel> plan_model_;  ///< until it is used
  std::shared_ptr<nvs::LvsmRenderer> renderer_;
  std::string loaded_;
};

}  // namespace ttt::cli
