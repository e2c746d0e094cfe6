// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"
#include "core/weights/safetensors_writer.h"
#include "tests/nvs/model/model_support.h"
#include "tests/support/paths.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <fstream>

namespace ttt::test {
namespace {

nvs::SceneState made_state(const nvs::LvsmRenderer& renderer) {
  nvs::SceneState state;
  state.config = renderer.config();
  state.layers = renderer.reconstruct(random_views(3, 16, 24));
  state.width = 24;
  state.height = 16;
  state.views = 3;
  state.mode = "scene";
  state.normalization.to_normal = nvs::look_at({1.0 / 3, -2, 3e-7}, {}, {0, 0, 1});
  state.normalization.scale = 1.7;
  state.scene = "box \xC3\xA4";
  state.weights_hash = "abc";
  return state;
}

TEST(SceneState, RoundTripRendersTheSamePixels) {
  const auto model = random_model(small_lvsm());
  const nvs::LvsmRenderer renderer(*model, {});
  const nvs::SceneState state = made_state(renderer);
  const TempDir folder;
  nvs::save_scene_state(folder / "state.safetensors", state);
  const nvs::SceneState loaded = nvs::load_scene_state(folder / "state.safetensors");
  EXPECT_EQ(loaded.config, state.config);
  EXPECT_EQ(loaded.width, 24);
  EXPECT_EQ(loaded.views, 3);
  EXPECT_EQ(loaded.mode, "scene");
  EXPECT_EQ(loaded.normalization.to_normal, state.normalization.to_normal);
  EXPECT_EQ(loaded.normalization.scale, state.normalization.scale);
  EXPECT_EQ(loaded.scene, state.scene);
  EXPECT_EQ(loaded.weights_hash, "abc");
  const nvs::CameraTensors targets = random_views(2, 16, 24, 4).cameras;
  const at::Tensor direct = renderer.render(state.layers, targets);
  EXPECT_TRUE(at::equal(renderer.render(loaded.layers, targets), direct));
  // Adding views to a loaded state is adding them to the state.
  const nvs::PosedViews more = random_views(2, 16, 24, 8);
  EXPECT_EQ(state_difference(renderer.reconstruct(more, &loaded.layers),
                             renderer.reconstruct(more, &state.layers)),
            0);
}

TEST(SceneState, Bfloat16IsHalfAsLargeAndClose) {
  const auto model = random_model(small_lvsm());
  const nvs::LvsmRenderer renderer(*model, {});
  const nvs::SceneState state = made_state(renderer);
  const TempDir folder;
  nvs::save_scene_state(folder / "full.safetensors", state);
  nvs::save_scene_state(folder / "half.safetensors", state, layers::StateDtype::bfloat16);
  const nvs::SceneState half = nvs::load_scene_state(folder / "half.safetensors");
  EXPECT_LT(state_difference(half.layers, state.layers), 0.02);
  EXPECT_GT(state_difference(half.layers, state.layers), 0);
  const nvs::CameraTensors targets = random_views(2, 16, 24, 4).cameras;
  EXPECT_GE(
      psnr_between(renderer.render(half.layers, targets), renderer.render(state.layers, targets)),
      30);
  const auto bytes = [&](layers::StateDtype dtype) {
    return static_cast<double>(nvs::scene_state_bytes(state.config, dtype));
  };
  const auto size = [&](const char* name) {
    return static_cast<double>(std::filesystem::file_size(folder / name));
  };
  EXPECT_NEAR(size("full.safetensors"), bytes(layers::StateDtype::float32), 4096);
  EXPECT_NEAR(size("half.safetensors"), bytes(layers::StateDtype::bfloat16), 4096);
}

void expect_refused(const std::filesystem::path& path) {
  try {
    nvs::load_scene_state(path);
    ADD_FAILURE() << "accepted " << path;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::weights) << error.what();
  }
}

TEST(SceneState, RefusesOtherAndDamagedFiles) {
  const auto model = random_model(small_lvsm());
  const nvs::LvsmRenderer renderer(*model, {});
  const nvs::SceneState state = made_state(renderer);
  const TempDir folder;
  const std::filesystem::path path = folder / "state.safetensors";
  expect_refused(folder / "none.safetensors");
  layers::save_fast_weights(path, state.layers);  // fast weights of something else
  expect_refused(path);
  for (const char* text : {"", "{}", "[1]", "{\"config\": 3}", "nonsense"}) {
    layers::save_fast_weights(path, state.layers, {{"ttt_scene_state", text}});
    expect_refused(path);
  }
  nvs::SceneState other = state;
  other.layers.erase("blocks.1.module_list.1");
  nvs::save_scene_state(path, other);
  expect_refused(path);
  other = state;
  other.config.block[1].inter_multi = 4;
  nvs::save_scene_state(path, other);
  expect_refused(path);
  for (const double scale : {0.0, -1.0, 1e-300, 1e300, std::nan("")}) {
    other = state;
    other.normalization.scale = scale;
    nvs::save_scene_state(path, other);
    expect_refused(path);
  }
  for (const double value : {1e300, 0.0, 1.5}) {
    other = state;
    other.normalization.to_normal.linear(2, 1) = value;
    nvs::save_scene_state(path, other);
    expect_refused(path);
  }
  nvs::save_scene_state(path, state);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 100);
  expect_refused(path);
  std::ofstream(path) << "version https://git-lfs.github.com/spec/v1\n";
  expect_refused(path);
}

}  // namespace
}  // namespace ttt::test
