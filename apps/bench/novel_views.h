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
class LvsmRenderer;
struct LvsmConfig;
}  // namespace ttt::nvs

namespace ttt::cli {

/// What is measured of a LaCT-LVSM model: one update with all input views, and target views from
/// given fast weights. Both take --batch views.
inline constexpr std::array<std::string_view, 2> kNovelViewCalls{"reconstruct", "render"};

/// Whether this names such a model, or, when there is a weight file, whether that holds one.
bool is_novel_view_model(const std::string& name, const std::string& weights);

/// Its architecture. Throws Error(usage) for an unknown name, Error(weights) for a bad file.
nvs::LvsmConfig novel_view_config(const std::string& name, const std::string& weights);

/// Keeps the last model.
class NovelViewShop {
 public:
  explicit NovelViewShop(c10::Device device) : device_(device) {}
  /// Throws Error(memory) when the model or the pass would need more than is free.
  Workload make(const Subject& subject);
  void forget();

 private:
  c10::Device device_;
  std::shared_ptr<nvs::LvsmRenderer> renderer_;
  std::string loaded_;
};

}  // namespace ttt::cli
