// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvs/model/config.h"

namespace ttt::test {

/// What small models of novel views differ by.
struct SmallLvsm {
  std::int64_t patch_size = 4;
  std::int64_t dim = 32;
  double mlp_multi = 4;
};

/// Two blocks of attention, fast weights and MLP, with two heads each.
inline nvs::LvsmConfig small_lvsm(const SmallLvsm& sizes = {}) {
  const std::int64_t head = sizes.dim / 2;
  nvs::LvsmConfig config;
  config.patch_size = sizes.patch_size;
  config.dim = sizes.dim;
  config.layers = 2;
  config.block = {{.kind = nvs::SubLayerKind::attention, .head_dim = head, .use_qk_norm = true},
                  {.kind = nvs::SubLayerKind::fast_weights,
                   .head_dim = head,
                   .inter_multi = 2,
                   .newton_schulz_steps = 5},
                  {.kind = nvs::SubLayerKind::mlp, .inter_multi = sizes.mlp_multi}};
  return config;
}

}  // namespace ttt::test
