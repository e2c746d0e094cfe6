// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/inputs/read_file.h"
#include "core/media/decode.h"
#include "tests/apps/effects.h"
#include "tests/apps/render_bench.h"

#include <gtest/gtest.h>

/// Shared by the effects of `ttt render`'s flags.
namespace ttt::test {

using Effects = std::map<std::string, Effect>;
using Arguments = RenderBench::Arguments;
using Json = nlohmann::json;

/// Those of states, results and running.
void add_render_result_effects(Effects& effects);

inline const RenderBench& bench() {
  return render_bench();
}

inline const std::string& plain() {
  static const std::string bytes = bench().tensors({});
  return bytes;
}

inline void expect_other(const Arguments& arguments) {
  EXPECT_NE(bench().tensors(arguments), plain());
}

inline Image picture(const std::string& path) {
  return decode_image(inputs::read_file(path), DecodeMode::photo, path);
}

/// The scene's part of a summary.
inline Json scene_of(const Arguments& arguments) {
  Arguments all = arguments;
  all.insert(all.end(), {"--tensors", "s.safetensors", "--overwrite"});
  return bench().summary(all)["scenes"][0];
}

inline Json dry_run(Arguments arguments) {
  arguments.emplace_back("--dry-run");
  return bench().rows(arguments)[0];
}

}  // namespace ttt::test
