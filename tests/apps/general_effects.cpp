// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/weights/safetensors_writer.h"
#include "tests/apps/effects.h"
#include "tests/apps/run_program.h"
#include "tests/support/paths.h"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <array>

namespace ttt::test {
namespace {

/// A folder with one small weight file, "a.safetensors".
struct WeightFolder {
  WeightFolder() {
    const std::array<NamedTensor, 1> tensors{{{"x", at::ones({2, 3})}}};
    write_safetensors(path(), tensors);
  }
  std::string path() const { return folder / "a.safetensors"; }
  std::string other(const std::string& name) const { return folder / name; }

  TempDir folder;
};

std::string golden() {
  return shared("golden/vision/hvit3_micro.pth");
}

}  // namespace

void add_general_effects(std::map<std::string, Effect>& effects, const Arguments& arguments) {
  effects["config"] = [=] {
    const TempDir folder;
    write_text_file(folder / "c.yaml", "verbose: true\n");
    EXPECT_TRUE(contains(run_ttt(plus(arguments, {"--config", folder / "c.yaml"})).err, "debug: "));
  };
  effects["set"] = [=] {
    EXPECT_TRUE(contains(run_ttt(plus(arguments, {"--set", "verbose=true"})).err, "debug: "));
  };
  effects["print-config"] = [=] {
    EXPECT_TRUE(contains(run_ttt(plus(arguments, {"--print-config"})).out, "command line"));
  };
  effects["verbose"] = [=] {
    EXPECT_FALSE(contains(run_ttt(arguments).err, "debug: "));
    EXPECT_TRUE(contains(run_ttt(plus(arguments, {"-v"})).err, "debug: "));
  };
  effects["quiet"] = [=] { EXPECT_EQ(run_ttt(plus(arguments, {"-q"})).err, ""); };
  effects["log-file"] = [=] {
    const TempDir folder;
    run_ttt(plus(arguments, {"--log-file", folder / "log"}));
    EXPECT_TRUE(contains(read_text_file(folder / "log"), "ttt 0."));
  };
  effects["color"] = [=] {
    EXPECT_TRUE(contains(run_ttt(plus(arguments, {"-v", "--color", "always"})).err, "\x1b["));
  };
  effects["help"] = [=] {
    EXPECT_TRUE(contains(run_ttt(plus(arguments, {"-h"})).out, "usage: ttt " + arguments[0]));
  };
}

std::map<std::string, Effect> list_effects() {
  std::map<std::string, Effect> effects;
  add_general_effects(effects, {"list", "backends"});
  effects["quiet"] = [] { EXPECT_EQ(run_ttt({"list", "backends", "-q", "-v"}).code, 2); };
  effects["topic"] = [] {
    EXPECT_TRUE(contains(run_ttt({"list", "--topic", "backends"}).out, "reference"));
    EXPECT_FALSE(contains(run_ttt({"list", "--topic", "devices"}).out, "reference"));
  };
  effects["format"] = [] {
    const auto listing = nlohmann::json::parse(run_ttt({"list", "--format", "json"}).out);
    EXPECT_EQ(listing["schema"], 1);
    EXPECT_EQ(listing["backends"].size(), 4U);
  };
  return effects;
}

std::map<std::string, Effect> inspect_effects() {
  const auto weights = std::make_shared<WeightFolder>();
  std::map<std::string, Effect> effects;
  add_general_effects(effects, {"inspect", weights->path()});
  effects["weights"] = [weights] {
    const ProgramResult result = run_ttt({"inspect", "-w", weights->path()});
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(result.out, run_ttt({"inspect", weights->path()}).out);
  };
  effects["format"] = [weights] {
    const auto file =
        nlohmann::json::parse(run_ttt({"inspect", weights->path(), "--format", "json"}).out);
    EXPECT_EQ(file["schema"], 1);
    EXPECT_EQ(file["container"], "safetensors");
    EXPECT_EQ(file["tensors"][0]["name"], "x");
    EXPECT_EQ(file["tensors"][0]["shape"], (std::vector<int>{2, 3}));
    EXPECT_EQ(file["tensors"][0]["bytes"], 24);
  };
  effects["weights-key"] = [] {
    if (!std::filesystem::exists(golden())) return;
    const auto key_of = [](const Arguments& more) {
      const auto file =
          nlohmann::json::parse(run_ttt(plus({"inspect", golden(), "--format", "json"}, more)).out);
      return file["weights_key"].get<std::string>();
    };
    EXPECT_EQ(key_of({}), "state_dict_ema");
    EXPECT_EQ(key_of({"--weights-key", "model"}), "model");
  };
  return effects;
}

std::map<std::string, Effect> convert_effects() {
  const auto weights = std::make_shared<WeightFolder>();
  const Arguments base{"convert", weights->path(), weights->other("out.safetensors"),
                       "--overwrite"};
  std::map<std::string, Effect> effects;
  add_general_effects(effects, base);
  const auto bytes_of = [weights](const std::string& name) {
    return std::filesystem::file_size(weights->other(name));
  };
  effects["weights"] = [=] {
    EXPECT_EQ(run_ttt({"convert", "--weights", weights->path(), "--output",
                       weights->other("1.safetensors")})
                  .code,
              0);
    EXPECT_GT(bytes_of("1.safetensors"), 24U);
  };
  effects["output"] = [=] {
    const ProgramResult result =
        run_ttt({"convert", weights->path(), "-o", weights->other("2.safetensors")});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(read_text_file(weights->other("2.safetensors")), read_text_file(weights->path()));
    expect_error(run_ttt({"convert", weights->path(), weights->other("2.bin")}), 5, "safetensors");
  };
  effects["overwrite"] = [=] {
    EXPECT_EQ(run_ttt(base).code, 0);
    expect_error(run_ttt({"convert", weights->path(), weights->other("out.safetensors")}), 5,
                 "exists already", "--overwrite");
  };
  effects["dtype"] = [=] {
    EXPECT_EQ(
        run_ttt({"convert", weights->path(), weights->other("3.safetensors"), "--dtype", "bf16"})
            .code,
        0);
    EXPECT_EQ(bytes_of("3.safetensors") + 12, bytes_of("a.safetensors"));
  };
  effects["weights-key"] = [=] {
    if (!std::filesystem::exists(golden())) return;
    for (const char* key : {"model", "state_dict_ema"})
      EXPECT_EQ(run_ttt({"convert", golden(), weights->other(std::string(key) + ".safetensors"),
                         "--weights-key", key})
                    .code,
                0);
    EXPECT_NE(read_text_file(weights->other("model.safetensors")),
              read_text_file(weights->other("state_dict_ema.safetensors")));
  };
  return effects;
}

}  // namespace ttt::test
