// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace ttt::layers {

/// One operation on the tokens [begin, end): the update comes first, then the apply uses the new
/// weights. Ends beyond the sequence are clamped; empty ranges are legal (an update on no token
/// scales the weights, and nothing else).
struct LactOperation {
  std::int64_t begin = 0, end = 0;
  bool update = false, apply = false;
};

/// Operations in order. A token that is applied sees exactly the tokens of all updates up to then.
/// Outputs come in the order of the operations, so a residual layer applies every token once and in
/// ascending order.
using LactSchedule = std::vector<LactOperation>;

/// Every token sees every token.
LactSchedule bidirectional_schedule(std::int64_t tokens);
/// Chunks one after the other; a token sees its own chunk and those before it.
LactSchedule block_causal_schedule(std::int64_t tokens, std::int64_t chunk);
/// A token sees the chunks before its own alone. The last chunk (1 to `chunk` tokens) is applied
/// and not updated on, unless `update_last`, which a sequence that goes on asks for.
LactSchedule shifted_schedule(std::int64_t tokens, std::int64_t chunk, bool update_last = false);
/// Pairs of ranges of `chunk` tokens: the first of a pair is only applied (the noisy copy of
/// teacher forcing), the second updates and is applied.
LactSchedule strided_schedule(std::int64_t tokens, std::int64_t chunk);
/// One update on the first `prefix` tokens, then all tokens are applied.
LactSchedule prefix_schedule(std::int64_t prefix, std::int64_t tokens);

}  // namespace ttt::layers
