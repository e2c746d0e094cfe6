// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/token_mixer.h"

#include "vision/design_space/general_ttt_block.h"
#include "vision/ttt_block.h"

namespace ttt::vision {

std::shared_ptr<TokenMixer> make_token_mixer(std::int64_t dim, std::int64_t heads,
                                             const InnerConfig& inner) {
  if (inner.is_published()) return std::make_shared<TttBlock>(dim, heads);
  return std::make_shared<GeneralTttBlock>(dim, heads, inner);
}

}  // namespace ttt::vision
