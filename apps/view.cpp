// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/view.h"

#include "apps/common/help.h"
#include "apps/render/option_groups.h"
#include "apps/view/options.h"
#include "apps/view/run.h"
#include "core/cancel.h"
#include "core/error.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>

namespace ttt::cli {
namespace {

/// Whether a file looks like safetensors: its name says so, or it begins with the length of a JSON
/// header that fits into it.
bool is_state(const std::string& path) {
  std::error_code error;
  if (path.ends_with(".safetensors")) return true;
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  std::array<unsigned char, 9> start{};
  if (error || size < start.size()) return false;
  std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(start.data()), start.size());
  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;) length = length << 8 | start[i];
  return start[8] == '{' && length <= size - 8;
}

void check_options(const RenderOptions& options) {
  TTT_CHECK(!options.input.empty() || !options.state.empty(), usage, "no scene is given",
            "ttt view", "give a scene or a saved state: `ttt view SCENE -w FILE`");
  TTT_CHECK(options.state.empty() || !options.fit, usage, "--state and --fit exclude each other",
            "ttt view", "the state knows how its cameras were fitted");
  TTT_CHECK(options.state.empty() || options.save_state.empty(), usage,
            "--state and --save-state exclude each other", "ttt view",
            "nothing is reconstructed; leave out one of them");
  TTT_CHECK(options.state.empty() || options.inner_update, usage,
            "--state and --no-inner-update exclude each other", "ttt view",
            "leave out one of them");
}

}  // namespace

int view_command(const std::vector<std::string>& arguments) {
  ViewOptions options;
  OptionTable table = view_table(options);
  RenderOptions& render = options.render;
  if (start(table, render.general, arguments)) return 0;
  take_model_config(table, render);
  if (render.state.empty() && is_state(render.input)) render.state.swap(render.input);
  check_options(render);
  install_cancel_signal_handler();
  return run_view(table, options);
}

nlohmann::ordered_json describe_view() {
  ViewOptions options;
  return describe_table(view_table(options));
}

}  // namespace ttt::cli
