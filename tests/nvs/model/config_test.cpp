// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"
#include "core/weights/safetensors_writer.h"
#include "tests/nvs/model/model_support.h"
#include "tests/support/paths.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <fstream>
#include <sstream>

namespace ttt::test {
namespace {

constexpr const char* kYaml = R"(patch_size: 4
dim: 32
layers: 2

block_config:
  - type: model.SelfAttention
    length_dim: l
    params:
      head_dim: 16
      use_qk_norm: true
  - type: lact_ttt.FastWeightGluMLPMultihead
    length_dim: vl
    params:
      head_dim: 16
      inter_multi: 2
      base_lr: 0.01
      muon_update_steps: 5
  - type: model.MLP
    params:
      inter_multi: 4
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

nvs::LvsmConfig read(const std::string& yaml) {
  const TempDir folder;
  std::ofstream(folder / "config.yaml") << yaml;
  return nvs::read_lvsm_config(folder / "config.yaml");
}

void expect_refused(const std::string& yaml, const std::string& part) {
  try {
    read(yaml);
    ADD_FAILURE() << "accepted: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(LvsmConfig, OfficialSchema) {
  EXPECT_EQ(read(kYaml), small_lvsm());
  const nvs::LvsmConfig bare = read(replaced(kYaml, "      muon_update_steps: 5\n", ""));
  EXPECT_EQ(bare.block[1].newton_schulz_steps, 0);  // the class default
}

TEST(LvsmConfig, NamesWhatIsWrong) {
  expect_refused(replaced(kYaml, "dim: 32", "dmi: 32"), "dmi");
  expect_refused(replaced(kYaml, "dim: 32", "dim: many"), ":2");
  expect_refused(replaced(kYaml, "dim: 32\n", ""), "dim is missing");
  expect_refused(replaced(kYaml, "dim: 32", "dim: 32\ndim: 64"), "twice");
  expect_refused(replaced(kYaml, "dim: 32", "dim: 40"), "head_dim 16");
  expect_refused(replaced(kYaml, "dim: 32", "dim: 100000000000"), "dim");
  expect_refused(replaced(kYaml, "layers: 2", "layers: -1"), "layers");
  expect_refused(replaced(kYaml, "model.MLP", "model.Mlp"), "model.Mlp");
  expect_refused(replaced(kYaml, "length_dim: l\n", "length_dim: vl\n"), "attention over all");
  expect_refused(replaced(kYaml, "length_dim: vl\n", "length_dim: l\n"), "within one view");
  expect_refused(replaced(kYaml, "inter_multi: 2", "inter_multi: 0"), "inter_multi");
  expect_refused(replaced(kYaml, "inter_multi: 2", "bias: true"), "bias");
  expect_refused(replaced(kYaml, "base_lr: 0.01", "base_lr: -1"), "base_lr");
  expect_refused("patch_size: 4\ndim: 32\nlayers: 2\nblock_config: []\n", "no fast weights");
  expect_refused("patch_size: 4\ndim: 32\nlayers: 2\nblock_config: 3\n", "block_config");
  expect_refused("{[", "yaml");
  expect_refused("- 1\n- 2\n", "map");
  expect_refused("", "map");
}

TEST(LvsmConfig, JsonRoundTrip) {
  nvs::LvsmConfig config = small_lvsm();
  config.block[1].base_lr = 0.1 / 3;
  config.block[1].inter_multi = 2.6;
  EXPECT_EQ(nvs::config_from_json(nvs::config_to_json(config), "test"), config);
  for (const char* text : {"", "{}", "[]", "{\"patch_size\": \"x\"}"})
    EXPECT_THROW(nvs::config_from_json(text, "test"), Error) << text;
  config.dim = 33;
  try {
    nvs::config_from_json(nvs::config_to_json(config), "test");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::weights) << "the file is at fault: " << error.what();
  }
}

TEST(LvsmConfig, PresetsHaveTheOfficialKeys) {
  TTT_REQUIRE_SHARED("golden/nvs/keys");
  for (const nvs::LvsmPreset& preset : nvs::lvsm_presets()) {
    SCOPED_TRACE(preset.name);
    std::ifstream file(shared("golden/nvs/keys/" + std::string(preset.name) + ".txt"));
    std::string line;
    std::getline(file, line);
    EXPECT_NE(line.find(std::to_string(preset.config.parameter_count()) + " parameters"),
              std::string::npos)
        << line;
    const nvs::LvsmModel model(preset.config);
    for (const auto& item : model.named_parameters()) {
      ASSERT_TRUE(std::getline(file, line)) << item.key();
      std::ostringstream text;
      text << item.key() << " [";
      for (std::int64_t i = 0; i < item.value().dim(); ++i)
        text << (i > 0 ? ", " : "") << item.value().size(i);
      EXPECT_EQ(text.str() + "]", line);
    }
    EXPECT_FALSE(std::getline(file, line)) << line;
    EXPECT_EQ(preset.config.name(), preset.name);
  }
}

std::vector<TensorInfo> infos(const nvs::LvsmModel& model) {
  std::vector<TensorInfo> list;
  for (const auto& item : model.named_parameters())
    list.push_back({item.key(), DType::f32, item.value().sizes().vec(), 0});
  return list;
}

TEST(LvsmConfig, DerivedFromShapes) {
  for (const nvs::LvsmPreset& preset : nvs::lvsm_presets()) {
    const auto derived = nvs::derive_lvsm_config(infos(nvs::LvsmModel(preset.config)));
    ASSERT_TRUE(derived);
    EXPECT_EQ(derived->config, preset.config);
    EXPECT_NE(derived->assumed.find("muon_update_steps 5"), std::string::npos);
  }
  nvs::LvsmConfig odd = small_lvsm();
  odd.block[1].inter_multi = 2.7;  // 16 -> 43
  odd.block[2].inter_multi = 1.3;  // 32 -> 41
  const auto derived = nvs::derive_lvsm_config(infos(nvs::LvsmModel(odd)));
  ASSERT_TRUE(derived);
  EXPECT_EQ(derived->config.hidden(derived->config.block[1]), 43);
  EXPECT_EQ(derived->config.hidden(derived->config.block[2]), 41);
  EXPECT_FALSE(nvs::derive_lvsm_config({}));
}

void save(const std::filesystem::path& path, const nvs::LvsmModel& model,
          const std::map<std::string, std::string>& metadata = {}, const std::string& skip = {},
          const std::string& prefix = {}) {
  std::vector<NamedTensor> tensors;
  for (const auto& item : model.named_parameters())
    if (item.key() != skip) tensors.push_back({prefix + item.key(), item.value().detach()});
  write_safetensors(path, tensors, metadata);
}

nvs::LoadedLvsm load(const std::filesystem::path& path, const std::string& config = {}) {
  return nvs::load_lvsm({path, {}, config, {}, {}});
}

TEST(LvsmWeights, StrictLoading) {
  const TempDir folder;
  const auto model = random_model(small_lvsm());
  const auto expect_equal = [&](const nvs::LvsmModel& other) {
    const auto wanted = model->named_parameters();
    for (const auto& item : other.named_parameters())
      EXPECT_TRUE(at::equal(item.value(), wanted[item.key()])) << item.key();
  };
  save(folder / "plain.safetensors", *model);
  expect_equal(*load(folder / "plain.safetensors").model);
  save(folder / "wrapped.safetensors", *model, {}, {}, "module._orig_mod.");
  expect_equal(*load(folder / "wrapped.safetensors").model);
  save(folder / "less.safetensors", *model, {}, "blocks.0.module_list.1.f.o_norm.weight");
  EXPECT_THROW(load(folder / "less.safetensors"), Error);
  nvs::LvsmConfig other = small_lvsm();
  other.block[1].newton_schulz_steps = 3;
  save(folder / "own.safetensors", *model, {{nvs::kConfigMetadata, nvs::config_to_json(other)}});
  EXPECT_EQ(load(folder / "own.safetensors").model->config(), other);
}

TEST(LvsmWeights, OfficialTrainingCheckpoint) {
  TTT_REQUIRE_SHARED("golden/nvs/train/model_0000002.pth");
  const auto torch_file =
      load(shared("golden/nvs/train/model_0000002.pth"), shared("golden/nvs/train/config.yaml"));
  const auto plain = load(shared("golden/nvs/train/model_0000002.safetensors"),
                          shared("golden/nvs/train/config.yaml"));
  const auto wanted = plain.model->named_parameters();
  for (const auto& item : torch_file.model->named_parameters())
    EXPECT_TRUE(at::equal(item.value(), wanted[item.key()])) << item.key();
}

TEST(LvsmWeights, SaysWhatShapesCantTell) {
  TTT_REQUIRE_SHARED("golden/nvs/model/small/model.pt");
  try {
    load(shared("golden/nvs/model/small/model.pt"));  // heads of 16, no q_norm to tell
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::weights);
    EXPECT_NE(error.hint().find("--config"), std::string::npos);
  }
  EXPECT_THROW(
      load(shared("golden/nvs/model/small/model.pt"), shared("golden/nvs/model/base/config.yaml")),
      Error);
}

}  // namespace
}  // namespace ttt::test
