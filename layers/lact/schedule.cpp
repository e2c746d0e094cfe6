// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "layers/lact/schedule.h"

#include "core/error.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

namespace ttt::layers {
namespace {

void check_chunk(std::int64_t chunk) {
  TTT_CHECK(chunk > 0, usage, fmt::format("chunks of {} tokens", chunk), "LaCT schedule",
            "use at least one token");
}

}  // namespace

LactSchedule bidirectional_schedule(std::int64_t tokens) {
  return {{0, tokens, true, true}};
}

LactSchedule block_causal_schedule(std::int64_t tokens, std::int64_t chunk) {
  check_chunk(chunk);
  LactSchedule schedule;
  for (std::int64_t begin = 0; begin < tokens; begin += chunk)
    schedule.push_back({begin, std::min(begin + chunk, tokens), true, true});
  return schedule;
}

LactSchedule shifted_schedule(std::int64_t tokens, std::int64_t chunk, bool update_last) {
  check_chunk(chunk);
  LactSchedule schedule;
  for (std::int64_t begin = 0; begin < tokens; begin += chunk) {
    const std::int64_t end = std::min(begin + chunk, tokens);
    schedule.push_back({begin, end, false, true});
    if (end < tokens || update_last) schedule.push_back({begin, end, true, false});
  }
  return schedule;
}

LactSchedule strided_schedule(std::int64_t tokens, std::int64_t chunk) {
  check_chunk(chunk);
  LactSchedule schedule;
  bool clean = false;
  for (std::int64_t begin = 0; begin < tokens; begin += chunk, clean = !clean)
    schedule.push_back({begin, std::min(begin + chunk, tokens), clean, true});
  return schedule;
}

LactSchedule prefix_schedule(std::int64_t prefix, std::int64_t tokens) {
  return {{0, prefix, true, false}, {0, tokens, false, true}};
}

}  // namespace ttt::layers
