// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/view/view_effects.h"

#include "core/media/decode.h"
#include "core/weights/safetensors_writer.h"
#include "tests/apps/render_bench.h"
#include "tests/apps/view/view_session.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace ttt::test {
namespace {

namespace fs = std::filesystem;
using Effects = std::map<std::string, Effect>;
using Arguments = ViewSession::Arguments;
using Json = nlohmann::json;

const RenderBench& bench() {
  return render_bench();
}

/// The first picture of a call.
std::string first(const Arguments& arguments) {
  ViewSession session(arguments);
  return session.serves() ? session.picture() : "";
}

const std::string& plain() {
  static const std::string picture = first({});
  return picture;
}

void expect_other(const Arguments& arguments) {
  EXPECT_NE(first(arguments), plain());
}

ProgramResult run(const Arguments& arguments) {
  return run_ttt({.arguments = plus({"view"}, arguments), .directory = bench().path()});
}

Json dry_run(const Arguments& arguments) {
  const ProgramResult result = run(plus(ViewSession::complete(arguments), {"--dry-run"}));
  EXPECT_EQ(result.code, 0) << result.err;
  return Json::parse(result.out);
}

PictureSize size_of(const std::string& picture) {
  const Image image = decode_image(std::vector<std::uint8_t>(picture.begin(), picture.end()),
                                   DecodeMode::photo, "picture");
  return {image.width, image.height};
}

void add_scene(Effects& effects) {
  effects["input"] = [] {
    EXPECT_EQ(first({"-i", "ring"}), plain());
    expect_other({"-i", "other"});
    expect_error(run({"nosuch", "-w", "tiny.safetensors", "--port", "0"}), 4, "nosuch");
    expect_error(run({"-w", "tiny.safetensors"}), 2, "no scene", "ttt view SCENE");
  };
  effects["scene"] = [] {
    EXPECT_EQ(first({"index.json", "--scene", "0"}), plain());
    EXPECT_EQ(first({"index.json", "--scene", "1"}), first({"other"}));
    expect_error(run({"index.json", "--scene", "2", "-w", "tiny.safetensors", "--port", "0"}), 2,
                 "2 scenes");
  };
  const auto transforms = [] {
    Json json{{"w", 32},
              {"h", 24},
              {"fl_x", 34.0},
              {"applied_scale", 2.0},
              {"applied_transform", {{0, 1, 0, 0}, {1, 0, 0, 0}, {0, 0, -1, 0.5}}}};
    for (const char* name : {"9.png", "8.png", "7.png"}) {
      const double shift = 0.1 * static_cast<double>(json["frames"].size());
      json["frames"].push_back(
          {{"file_path", name},
           {"transform_matrix",
            {{1, 0, 0, shift}, {0, 1, 0, 0.2 * shift}, {0, 0, 1, 3}, {0, 0, 0, 1}}}});
    }
    fs::create_directories(bench() / "view_ngp/images_2");
    for (const char* name : {"7.png", "8.png", "9.png"})
      for (const auto& [from, to] :
           {std::pair{"ring/", "view_ngp/"}, {"other/", "view_ngp/images_2/"}})
        fs::copy_file(bench() / (from + std::string(name)), bench() / (to + std::string(name)),
                      fs::copy_options::overwrite_existing);
    write_text_file(bench() / "view_ngp/transforms.json", json.dump());
    return Arguments{"view_ngp", "--mode", "object", "--input-views", "0,1"};
  };
  effects["keep-world"] = [=] {
    EXPECT_NE(first(plus(transforms(), {"--keep-world"})), first(transforms()));
  };
  effects["sort-frames"] = [=] {
    ViewSession session(plus(transforms(), {"--sort-frames"}));
    EXPECT_EQ(session.scene()["poses"][0]["name"], "7.png");
    EXPECT_EQ(ViewSession(transforms()).scene()["poses"][0]["name"], "9.png");
  };
  effects["downscale"] = [=] {
    EXPECT_NE(first(plus(transforms(), {"--downscale", "2"})), first(transforms()));
  };
  effects["decode"] = [] {
    // The official turntable swaps width and height.
    const auto turntable = [](const Arguments& arguments) {
      return ViewSession(plus(arguments, {"--mode", "object"})).scene()["paths"].back();
    };
    EXPECT_EQ(turntable({})["name"], "turntable");
    EXPECT_NE(turntable({}), turntable({"--decode", "official"}));
    expect_error(run({"ring", "--decode", "nice"}), 2, "nice");
  };
}

void add_views(Effects& effects) {
  effects["input-views"] = [] {
    EXPECT_EQ(dry_run({"--input-views", "0,2-4"})["inputs"], Json({0, 2, 3, 4}));
    expect_other({"--input-views", "0,2"});
  };
  effects["views"] = [] { EXPECT_EQ(dry_run({"--views", "3"})["inputs"].size(), 3U); };
  effects["select"] = [] {
    EXPECT_EQ(dry_run({"--select", "first", "--views", "3"})["inputs"], Json({0, 1, 2}));
    EXPECT_EQ(dry_run({"--select", "uniform", "--views", "2"})["inputs"], Json({0, 9}));
  };
  effects["selection"] = [] {
    bench().rows({"--save-selection", "view_sel.json", "--input-views", "1,8", "--tensors",
                  "view.safetensors", "--overwrite"});
    EXPECT_EQ(dry_run({"--selection", "view_sel.json"})["inputs"], Json({1, 8}));
  };
  effects["mode"] = [] {
    EXPECT_NE(first({"--mode", "object"}), first({"--mode", "scene"}));
    EXPECT_EQ(dry_run({"--mode", "scene"})["mode"], "scene");
  };
  effects["fit"] = [] {
    EXPECT_NE(first({"--mode", "object", "--fit"}), first({"--mode", "object"}));
  };
}

void add_model(Effects& effects) {
  effects["weights"] = [] {
    expect_error(run({"ring", "-m", "lact_l14_d768_ttt2x", "--port", "0"}), 2, "no weights",
                 "--weights");
    EXPECT_EQ(run({"ring", "--size", "32x24", "--dry-run"}).code, 0) << "the shipped ones";
    expect_error(run({"ring", "-w", "none.pt", "--port", "0"}), 3, "none.pt");
  };
  effects["weights-key"] = [] {
    const std::string file = shared("golden/nvs/model/small/model.pt");
    if (!fs::exists(file)) return;
    expect_error(run({"ring", "-w", file, "--weights-key", "nosuch", "--port", "0"}), 3, "nosuch");
  };
  effects["model"] = [] {
    expect_error(
        run({"ring", "-w", "tiny.safetensors", "-m", "lact_l14_d768_ttt2x", "--port", "0"}), 3,
        "not of lact_l14", "--model");
  };
  const auto random = [](const Arguments& more) {
    write_text_file(bench() / "view_model.yaml",
                    "patch_size: 4\ndim: 16\nlayers: 1\nblock_config:\n  - type: "
                    "lact_ttt.FastWeightGluMLPMultihead\n    params: {head_dim: 16}\n");
    return plus({"--random-weights"}, more);
  };
  effects["model-config"] = [=] {
    const std::string picture = first(random({"--model-config", "view_model.yaml"}));
    EXPECT_NE(picture, plain());
    EXPECT_EQ(first(random({"--config", "view_model.yaml"})), picture);
  };
  effects["random-weights"] = [] {
    expect_error(run({"ring", "--random-weights", "--port", "0"}), 2, "need a model", "--model");
  };
  effects["seed"] = [=] {
    EXPECT_NE(first(random({"--model-config", "view_model.yaml", "--seed", "3"})),
              first(random({"--model-config", "view_model.yaml", "--seed", "4"})));
  };
  const auto changed_file = [](const std::string& name, bool add) {
    const WeightFile file = WeightFile::open(bench() / "tiny.safetensors");
    std::vector<NamedTensor> tensors;
    for (const TensorInfo& info : file.tensors())
      if (add || !info.name.ends_with("lr_fc.bias"))
        tensors.push_back({info.name, file.read(info.name)});
    if (add) tensors.push_back({"extra.scale", file.read("input_layernorm.weight")});
    write_safetensors(bench() / name, tensors, file.metadata());
  };
  effects["allow-missing"] = [=] {
    changed_file("view_less.safetensors", false);
    expect_error(run({"ring", "-w", "view_less.safetensors", "--port", "0"}), 3, "lr_fc.bias");
    dry_run({"-w", "view_less.safetensors", "--allow-missing", "*lr_fc.bias"});
  };
  effects["allow-unexpected"] = [=] {
    changed_file("view_more.safetensors", true);
    expect_error(run({"ring", "-w", "view_more.safetensors", "--port", "0"}), 3, "extra.scale");
    dry_run({"-w", "view_more.safetensors", "--allow-unexpected", "extra.*"});
  };
}

void add_state(Effects& effects) {
  const auto save = [](const Arguments& more) {
    ViewSession session(plus({"--save-state", "view_state.safetensors", "--overwrite"}, more));
    session.end();
    return fs::file_size(bench() / "view_state.safetensors");
  };
  effects["save-state"] = [=] {
    save({});
    const Json record = Json::parse(read_text_file(bench() / "view_state.safetensors.run.json"));
    EXPECT_EQ(record["status"], "complete");
    EXPECT_EQ(record["command"], "view");
    EXPECT_EQ(record["result"]["inputs"], Json({0, 2, 4, 6}));
    expect_error(run(ViewSession::complete({"--save-state", "view_state.pt"})), 2, "view_state.pt");
  };
  effects["state"] = [=] {
    save({});
    // A state instead of a scene, beside one, and with cameras from elsewhere.
    EXPECT_EQ(
        first({"--state", "view_state.safetensors", "-i", "ring", "--input-views", "0,2,4,6"}),
        plain());
    ViewSession alone({"view_state.safetensors"});
    EXPECT_EQ(alone.scene()["poses"].size(), 0U);
    EXPECT_EQ(alone.scene()["input_views"], 4);
    EXPECT_NE(alone.picture(), "");
    expect_error(run(ViewSession::complete(
                     {"--state", "view_state.safetensors", "--save-state", "x.safetensors"})),
                 2, "exclude");
  };
  effects["state-dtype"] = [=] { EXPECT_LT(save({"--state-dtype", "bf16"}) + 8000, save({})); };
  effects["inner-update"] = [] { expect_other({"--no-inner-update"}); };
}

void add_page(Effects& effects) {
  effects["host"] = [] {
    ViewSession session({"--host", "localhost"});
    EXPECT_TRUE(session.url().starts_with("http://localhost:")) << session.url();
    expect_error(run(ViewSession::complete({"--host", "203.0.113.77"})), 2, "203.0.113.77",
                 "--host");
  };
  effects["port"] = [] {
    ViewSession session({});
    const std::string port = std::to_string(session.row()["port"].get<int>());
    EXPECT_EQ(session.url(), "http://127.0.0.1:" + port + "/");
    // Known before the work: the weights don't even exist.
    expect_error(run({"ring", "-w", "none.pt", "--port", port}), 2, "port " + port, "--port 0");
  };
  effects["allow-host"] = [] {
    const auto status = [](const Arguments& arguments) {
      return ViewSession(arguments).status("/", {{"Host", "gpu.example:80"}});
    };
    EXPECT_EQ(status({}), 403);
    EXPECT_EQ(status({"--allow-host", "gpu.example"}), 200);
  };
  effects["size"] = [] {
    const auto size = size_of(first({"--size", "48x32"}));
    EXPECT_EQ(size.width, 48);
    EXPECT_EQ(size.height, 32);
  };
  effects["render-size"] = [] { EXPECT_EQ(size_of(first({"--render-size", "64x40"})).width, 64); };
  effects["drag-size"] = [] {
    const auto drafted = [](const Arguments& arguments) {
      ViewSession session(arguments);
      return size_of(session.picture(session.scene()["start"], true));
    };
    EXPECT_EQ(drafted({}).width, 16);
    EXPECT_EQ(drafted({}).height, 12);
    EXPECT_EQ(drafted({"--drag-size", "24x20"}).height, 20);
    expect_error(run(ViewSession::complete({"--drag-size", "25x20"})), 2, "25x20");
  };
  effects["format"] = [] {
    RunningProgram program(
        {.arguments = plus({ttt_path(), "view"}, ViewSession::complete({"--format", "table"})),
         .directory = bench().path()});
    EXPECT_TRUE(program.wait_for_lines(1));
    EXPECT_NE(program.out().find("at http://127.0.0.1:"), std::string::npos) << program.out();
    program.signal(SIGINT);
    EXPECT_NE(program.wait().out.find("0 pictures"), std::string::npos);
  };
  effects["overwrite"] = [] {
    write_text_file(bench() / "there.safetensors", "");
    expect_error(run(ViewSession::complete({"--save-state", "there.safetensors"})), 5, "exists",
                 "--overwrite");
    ViewSession({"--save-state", "there.safetensors", "--overwrite"}).end();
    EXPECT_GT(fs::file_size(bench() / "there.safetensors"), 1000U);
  };
}

void add_running(Effects& effects) {
  effects["device"] = [] {
    EXPECT_EQ(ViewSession({"--device", "cpu"}).scene()["device"], "cpu");
    expect_error(run({"ring", "--device", "tpu"}), 2, "tpu");
  };
  effects["backend"] = [] {
    EXPECT_EQ(dry_run({"--backend", "reference"})["backend"], "reference");
  };
  effects["dtype"] = [] { expect_other({"--dtype", "bf16"}); };
  effects["ns-dtype"] = [] {
    EXPECT_NE(first({"--backend", "reference", "--ns-dtype", "bf16"}),
              first({"--backend", "reference"}));
  };
  effects["tf32"] = [] { EXPECT_TRUE(dry_run({"--tf32"})["tf32"].get<bool>()); };
  effects["threads"] = [] { EXPECT_EQ(dry_run({"--threads", "3"})["threads"], 3); };
  effects["workers"] = [] {
    EXPECT_EQ(first({"--workers", "1"}), plain());
    expect_error(run({"ring", "--workers", "0"}), 2, "0");
  };
  effects["tile"] = [] {
    EXPECT_LT(dry_run({"--tile", "16"})["memory_mib"]["reconstruct"].get<double>(),
              dry_run({})["memory_mib"]["reconstruct"].get<double>());
  };
  effects["dry-run"] = [] {
    const Json row = dry_run({});
    EXPECT_EQ(row["status"], "dry-run");
    EXPECT_EQ(row["drag_size"], "16x12");
    EXPECT_GT(row["memory_mib"]["peak"].get<double>(), 0);
  };
  effects["preset"] = [] { EXPECT_EQ(dry_run({"--preset", "official"})["ns_dtype"], "bf16"); };
  effects["progress-fd"] = [] {
    std::string command = "exec '" + ttt_path() + "' view";
    for (const std::string& word : ViewSession::complete({"--progress-fd", "3"}))
      command += " " + word;
    RunningProgram program({.arguments = {"/bin/sh", "-c", command + " 3>view_progress"},
                            .directory = bench().path()});
    EXPECT_TRUE(program.wait_for_lines(1));
    program.signal(SIGINT);
    EXPECT_EQ(program.wait().code, 130);
    const std::string text = read_text_file(bench() / "view_progress");
    EXPECT_TRUE(Json::accept(text.substr(0, text.find('\n')))) << text;
  };
}

}  // namespace

std::map<std::string, Effect> view_effects() {
  Effects effects;
  add_scene(effects);
  add_views(effects);
  add_model(effects);
  add_state(effects);
  add_page(effects);
  add_running(effects);
  add_general_effects(effects, {"view", bench() / "ring", "-w", bench() / "tiny.safetensors",
                                "--size", "32x24", "--dry-run"});
  return effects;
}

}  // namespace ttt::test
