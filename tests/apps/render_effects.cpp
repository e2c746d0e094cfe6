// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/render_effects.h"

#include "core/weights/safetensors_writer.h"
#include "tests/apps/result_effects.h"

#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

namespace ttt::test {
namespace {

namespace fs = std::filesystem;

void add_scene(Effects& effects) {
  effects["input"] = [] {
    EXPECT_EQ(bench().tensors({"-i", "ring"}), plain());
    expect_other({"-i", "other"});
    expect_error(bench().run({"nosuch", "-w", "tiny.safetensors", "-o", "x"}), 4, "nosuch");
  };
  effects["scene"] = [] {
    EXPECT_EQ(bench().tensors({"index.json", "--scene", "0"}), plain());
    EXPECT_NE(bench().tensors({"index.json", "--scene", "1"}), plain());
    expect_error(bench().run({"index.json", "--scene", "2", "-w", "tiny.safetensors", "-o", "x"}),
                 2, "2 scenes");
  };
  const auto transforms = [] {
    Json json{{"w", 32},
              {"h", 24},
              {"fl_x", 34.0},
              {"applied_scale", 2.0},
              {"applied_transform", {{0, 1, 0, 0}, {1, 0, 0, 0}, {0, 0, -1, 0.5}}}};
    for (const char* name : {"10.png", "9.png", "8.png", "7.png"}) {
      const double shift = 0.1 * static_cast<double>(json["frames"].size());
      json["frames"].push_back(
          {{"file_path", name},
           {"transform_matrix",
            {{1, 0, 0, shift}, {0, 1, 0, 0.2 * shift}, {0, 0, 1, 3}, {0, 0, 0, 1}}}});
    }
    fs::create_directories(bench() / "ngp/images_2");
    for (const char* name : {"7.png", "8.png", "9.png"}) {
      fs::copy_file(bench() / ("ring/" + std::string(name)), bench() / ("ngp/" + std::string(name)),
                    fs::copy_options::overwrite_existing);
      fs::copy_file(bench() / ("other/" + std::string(name)),
                    bench() / ("ngp/images_2/" + std::string(name)),
                    fs::copy_options::overwrite_existing);
    }
    for (const char* folder : {"ngp/", "ngp/images_2/"})
      fs::copy_file(bench() / "ring/5.png", bench() / (folder + std::string("10.png")),
                    fs::copy_options::overwrite_existing);
    write_text_file(bench() / "ngp/transforms.json", json.dump());
    return Arguments{"ngp", "--mode", "object", "--input-views", "0,1", "--target-views", "2"};
  };
  const auto with = [](Arguments arguments, const Arguments& more) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  effects["keep-world"] = [=] {
    EXPECT_NE(bench().tensors(with(transforms(), {"--keep-world"})), bench().tensors(transforms()));
  };
  effects["sort-frames"] = [=] {
    EXPECT_NE(bench().tensors(with(transforms(), {"--sort-frames"})),
              bench().tensors(transforms()));
  };
  effects["downscale"] = [=] {
    EXPECT_NE(bench().tensors(with(transforms(), {"--downscale", "2"})),
              bench().tensors(transforms()));
  };
  effects["decode"] = [] {
    // The official turntable swaps width and height.
    const Arguments path{"--mode", "object", "--path", "turntable", "--frames", "3"};
    Arguments official = path;
    official.insert(official.end(), {"--decode", "official"});
    EXPECT_NE(bench().tensors(path), bench().tensors(official));
  };
}

void add_views(Effects& effects) {
  effects["input-views"] = [] {
    EXPECT_EQ(scene_of({"--input-views", "0,2-4"})["inputs"], Json({0, 2, 3, 4}));
    expect_error(
        bench().run({"ring", "-w", "tiny.safetensors", "-o", "x", "--input-views", "0,99"}), 2,
        "99");
    expect_other({"--input-views", "0,2"});
  };
  effects["target-views"] = [] {
    const auto rows = bench().rows({"--target-views", "7,5,9", "--tensors", "v.safetensors"});
    ASSERT_EQ(rows.size(), 4U);
    EXPECT_EQ(rows[0]["view"], 7);
    EXPECT_EQ(rows[2]["view"], 9);
    EXPECT_GT(rows[0]["psnr"].get<double>(), 0);
  };
  effects["views"] = [] { EXPECT_EQ(scene_of({"--views", "3"})["inputs"].size(), 3U); };
  effects["select"] = [] {
    EXPECT_EQ(scene_of({"--select", "first", "--views", "3", "--targets", "every"})["inputs"],
              Json({1, 2, 3}));
    EXPECT_EQ(scene_of({"--select", "uniform", "--views", "2", "--targets", "none", "--path",
                        "interpolate"})["inputs"],
              Json({0, 9}));
  };
  effects["targets"] = [] {
    EXPECT_EQ(scene_of({"--targets", "every", "--every", "5"})["targets"], Json({0, 5}));
    EXPECT_EQ(scene_of({"--targets", "rest", "--views", "7"})["targets"].size(), 3U);
    expect_error(bench().run({"ring", "-w", "tiny.safetensors", "--size", "32x24", "-o", "x",
                              "--targets", "none"}),
                 2, "no target views", "--path");
  };
  effects["every"] = [] {
    EXPECT_EQ(scene_of({"--views", "2", "--every", "4"})["targets"], Json({0, 4, 8}));
  };
  effects["save-selection"] = [] {
    bench().rows({"--save-selection", "sel.json", "--tensors", "v2.safetensors", "--overwrite"});
    const Json saved = Json::parse(read_text_file(bench() / "sel.json"));
    EXPECT_EQ(saved["inputs"][1]["index"], 2);
    EXPECT_EQ(saved["inputs"][1]["file"], "2.png");
  };
  effects["selection"] = [&] {
    bench().rows({"--save-selection", "sel2.json", "--input-views", "1,8", "--tensors",
                  "v3.safetensors", "--overwrite"});
    EXPECT_EQ(scene_of({"--selection", "sel2.json"})["inputs"], Json({1, 8}));
  };
}

void add_cameras(Effects& effects) {
  effects["mode"] = [] {
    EXPECT_NE(bench().tensors({"--mode", "object"}), bench().tensors({"--mode", "scene"}));
    EXPECT_EQ(scene_of({"--mode", "object"})["mode"], "object");
  };
  effects["fit"] = [] {
    EXPECT_NE(bench().tensors({"--mode", "object", "--fit"}),
              bench().tensors({"--mode", "object"}));
    expect_error(bench().run({"ring", "-w", "tiny.safetensors", "--size", "32x24", "-o", "x",
                              "--mode", "scene", "--fit"}),
                 2, "--fit");
  };
  effects["normalize-by"] = [] {
    EXPECT_NE(bench().tensors({"--mode", "scene", "--normalize-by", "inputs"}),
              bench().tensors({"--mode", "scene"}));
  };
  effects["path"] = [] {
    for (const char* path : {"orbit", "spiral"})
      EXPECT_EQ(scene_of({"--path", path, "--frames", "4"})["rendered"], 4) << path;
    EXPECT_EQ(scene_of({"--path", "turntable", "--frames", "5", "--mode", "object"})["rendered"],
              5);
    EXPECT_EQ(scene_of({"--path", "ring/opencv_cameras.json"})["rendered"], 10);
    expect_error(bench().run({"ring", "-w", "tiny.safetensors", "--size", "32x24", "-o", "x",
                              "--path", "orbti"}),
                 2, "orbti", "orbit");
    expect_error(bench().run({"ring", "-w", "tiny.safetensors", "--size", "32x24", "-o", "x",
                              "--path", "turntable", "--mode", "scene"}),
                 2, "turntable");
  };
  effects["frames"] = [] {
    EXPECT_EQ(scene_of({"--path", "orbit", "--frames", "3"})["rendered"], 3);
  };
  effects["between"] = [] {
    EXPECT_EQ(scene_of({"--path", "interpolate"})["rendered"], 10);
    EXPECT_EQ(scene_of({"--path", "interpolate", "--between", "1"})["rendered"], 7);
  };
  effects["interpolation"] = [] {
    const auto frames = [](const char* rule) {
      return bench().tensors({"--path", "interpolate", "--interpolation", rule});
    };
    EXPECT_NE(frames("linear"), frames("sphere"));
    EXPECT_NE(frames("spline"), frames("sphere"));
  };
  effects["fps"] = [] {
    const auto delay = [](const char* fps) {
      bench().rows(
          {"--path", "orbit", "--frames", "2", "--fps", fps, "-o", "fps.gif", "--overwrite"});
      const std::string gif = read_text_file(bench() / "fps.gif");
      const std::size_t at = gif.find("\x21\xF9\x04");
      EXPECT_NE(at, std::string::npos);
      return static_cast<unsigned char>(gif[at + 4]);
    };
    EXPECT_EQ(delay("10"), 10);
    EXPECT_EQ(delay("4"), 25);
  };
}

void add_model(Effects& effects) {
  effects["weights"] = [] {
    expect_error(bench().run({"ring", "-o", "x", "-m", "lact_l14_d768_ttt2x"}), 2, "no weights",
                 "--weights");
    expect_error(bench().run({"ring", "-o", "x", "-w", "none.pt"}), 3, "none.pt");
    // Without a name, the shipped ones.
    fs::create_directories(bench() / "assets");
    fs::copy_file(bench() / "tiny.safetensors", bench() / "assets/lvsm_procedural.safetensors",
                  fs::copy_options::overwrite_existing);
    const ProgramResult shipped = run_ttt(
        {.arguments = {"render", "ring", "--size", "32x24", "--input-views", "0,2,4,6",
                       "--target-views", "1,3", "--tensors", "w.safetensors", "--overwrite"},
         .environment = {{"TTT_ASSETS", bench() / "assets"}},
         .directory = bench().path()});
    EXPECT_EQ(shipped.code, 0) << shipped.err;
    EXPECT_NE(shipped.err.find("the shipped model"), std::string::npos);
    EXPECT_EQ(read_text_file(bench() / "w.safetensors"), plain());
  };
  effects["weights-key"] = [] {
    const std::string file = shared("golden/nvs/model/small/model.pt");
    if (!fs::exists(file)) return;
    expect_error(bench().run({"ring", "-o", "x", "-w", file, "--weights-key", "nosuch"}), 3,
                 "nosuch");
  };
  effects["model"] = [] {
    expect_error(
        bench().run({"ring", "-o", "x", "-w", "tiny.safetensors", "-m", "lact_l14_d768_ttt2x"}), 3,
        "not of lact_l14", "--model");
    expect_error(bench().run({"ring", "-o", "x", "--random-weights", "-m", "lact"}), 2, "lact",
                 "lact_l24_d768_ttt4x");
  };
  const std::string yaml =
      "patch_size: 4\ndim: 16\nlayers: 1\nblock_config:\n"
      "  - type: lact_ttt.FastWeightGluMLPMultihead\n    params: {head_dim: 16, inter_multi: 2}\n";
  const auto random = [=](const Arguments& more) {
    write_text_file(bench() / "model.yaml", yaml);
    Arguments arguments{"--random-weights"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return bench().tensors(arguments);
  };
  effects["model-config"] = [=] {
    EXPECT_NE(random({"--model-config", "model.yaml"}), plain());
    // The official tools' --config.
    EXPECT_EQ(random({"--config", "model.yaml"}), random({"--model-config", "model.yaml"}));
    write_text_file(bench() / "bad.yaml", "block_config:\n  - type: nonsense\n");
    expect_error(bench().run({"ring", "-o", "x", "--random-weights", "--config", "bad.yaml"}), 2,
                 "bad.yaml");
  };
  effects["random-weights"] = [=] {
    expect_error(bench().run({"ring", "-o", "x", "--random-weights"}), 2, "need a model",
                 "--model");
    EXPECT_EQ(random({"--model-config", "model.yaml"}), random({"--model-config", "model.yaml"}));
  };
  effects["seed"] = [=] {
    EXPECT_NE(random({"--model-config", "model.yaml", "--seed", "3"}),
              random({"--model-config", "model.yaml", "--seed", "4"}));
    const Arguments choice{"--select", "random", "--views", "3"};
    const auto inputs = [&](const char* seed) {
      Arguments all = choice;
      all.insert(all.end(), {"--seed", seed});
      return scene_of(all)["inputs"];
    };
    EXPECT_NE(inputs("1"), inputs("2"));
  };
  const auto changed_file = [](const std::string& name, bool add) {
    const WeightFile file = WeightFile::open(bench() / "tiny.safetensors");
    std::vector<NamedTensor> tensors;
    for (const TensorInfo& info : file.tensors())
      if (add || !info.name.ends_with("lr_fc.bias"))
        tensors.push_back({info.name, file.read(info.name)});
    if (add) tensors.push_back({"extra.scale", at::ones({3})});
    write_safetensors(bench() / name, tensors, file.metadata());
  };
  effects["allow-missing"] = [=] {
    changed_file("less.safetensors", false);
    expect_error(bench().run({"ring", "-o", "x", "-w", "less.safetensors"}), 3, "lr_fc.bias");
    bench().tensors({"-w", "less.safetensors", "--allow-missing", "*lr_fc.bias"});
  };
  effects["allow-unexpected"] = [=] {
    changed_file("more.safetensors", true);
    expect_error(bench().run({"ring", "-o", "x", "-w", "more.safetensors"}), 3, "extra.scale");
    EXPECT_EQ(bench().tensors({"-w", "more.safetensors", "--allow-unexpected", "extra.*"}),
              plain());
  };
}

void add_progress_and_preset(Effects& effects) {
  effects["preset"] = [] {
    const Json row = dry_run({"--preset", "official"});
    EXPECT_EQ(row["ns_dtype"], "bf16");
  };
  effects["progress-fd"] = [] {
    const Json last = last_progress({"render", "ring", "-w", "tiny.safetensors", "--size", "32x24",
                                     "--metrics", "p.json", "--overwrite", "--target-views", "1,3"},
                                    bench().path());
    EXPECT_EQ(last["task"], "render");
    EXPECT_EQ(last["done"], 2);
  };
}

}  // namespace

std::map<std::string, Effect> render_effects() {
  Effects effects;
  add_scene(effects);
  add_views(effects);
  add_cameras(effects);
  add_model(effects);
  add_general_effects(
      effects, {"render", bench() / "ring", "-w", bench() / "tiny.safetensors", "--size", "32x24",
                "--metrics", bench() / "general.json", "--overwrite"});
  add_progress_and_preset(effects);
  add_render_result_effects(effects);
  return effects;
}

}  // namespace ttt::test
