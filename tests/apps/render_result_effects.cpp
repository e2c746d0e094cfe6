// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/weights/weight_file.h"
#include "tests/apps/render_effects.h"
#include "tests/support/lpips_weights.h"

#include <ATen/ATen.h>

namespace ttt::test {
namespace {

namespace fs = std::filesystem;

void add_state(Effects& effects) {
  effects["save-state"] = [] {
    bench().rows({"--save-state", "ring.safetensors", "--overwrite"});
    EXPECT_TRUE(fs::exists(bench() / "ring.safetensors"));
  };
  effects["state"] = [] {
    bench().rows({"--save-state", "ring2.safetensors", "--overwrite"});
    // Without reading a picture, and with the scene's targets: identical pixels.
    EXPECT_EQ(bench().tensors({"ring", "--state", "ring2.safetensors"}), plain());
    EXPECT_EQ(scene_of({"--state", "ring2.safetensors", "--path",
                        "ring/opencv_cameras.json"})["rendered"],
              10);
    expect_error(bench().run({"--state", "ring2.safetensors", "-w", "tiny.safetensors", "-o", "x",
                              "--size", "32x24"}),
                 2, "needs the scene's cameras");
    write_text_file(bench() / "model2.yaml",
                    "patch_size: 4\ndim: 16\nlayers: 1\nblock_config:\n  - type: "
                    "lact_ttt.FastWeightGluMLPMultihead\n    params: {head_dim: 16}\n");
    expect_error(bench().run({"--state", "ring2.safetensors", "--random-weights", "--model-config",
                              "model2.yaml", "-o", "x", "--path", "turntable"}),
                 3, "state");
  };
  effects["state-dtype"] = [] {
    const auto size = [](const char* dtype) {
      bench().rows({"--save-state", "sized.safetensors", "--overwrite", "--state-dtype", dtype});
      return fs::file_size(bench() / "sized.safetensors");
    };
    EXPECT_LT(size("bf16") + 8000, size("fp32"));
  };
  effects["add-views"] = [] {
    bench().rows({"--save-state", "part.safetensors", "--input-views", "0,2", "--overwrite"});
    const std::string before = bench().tensors({"ring", "--state", "part.safetensors"});
    const std::string after = bench().tensors(
        {"ring", "--state", "part.safetensors", "--add-views", "--input-views", "4,6"});
    EXPECT_NE(after, before);
    EXPECT_NE(after, plain());  // an approximation of one update from all four
    expect_error(bench().run({"ring", "-w", "tiny.safetensors", "-o", "x", "--add-views"}), 2,
                 "--state");
  };
  effects["inner-update"] = [] { expect_other({"--no-inner-update"}); };
  effects["inner-report"] = [] {
    const Json inner = scene_of({"--inner-report"})["inner"];
    ASSERT_EQ(inner.size(), 2U);
    EXPECT_EQ(inner[1]["layer"], "blocks.1.module_list.1");
    EXPECT_GT(inner[0]["update_ratio"].get<double>(), 0);
  };
  effects["inner-plot"] = [] {
    bench().rows({"--inner-plot", "inner.png", "--overwrite"});
    EXPECT_GT(picture(bench() / "inner.png").width, 300);
  };
}

void add_output(Effects& effects) {
  effects["output"] = [] {
    const auto rows = bench().rows({"-o", "out", "--overwrite"});
    EXPECT_EQ(rows[0]["file"], "out/0000.png");
    EXPECT_TRUE(fs::exists(bench() / "out/0001.png"));
    EXPECT_TRUE(fs::exists(bench() / "out.run.json"));
    for (const char* movie : {"orbit.mp4", "orbit.avi", "orbit.gif"}) {
      bench().rows({"-o", movie, "--path", "orbit", "--frames", "3", "--overwrite"});
      EXPECT_GT(fs::file_size(bench() / movie), 500U) << movie;
    }
    const ProgramResult table =
        bench().run({"ring", "-w", "tiny.safetensors", "--size", "32x24", "--format", "table", "-o",
                     "orbit.gif", "--path", "orbit", "--frames", "3", "--overwrite"});
    EXPECT_NE(table.out.find("3  frames in orbit.gif"), std::string::npos) << table.out;
    EXPECT_NE(table.err.find("cameras by --path orbit"), std::string::npos) << table.err;
    expect_error(bench().run({"ring", "-w", "tiny.safetensors", "--size", "32x24", "-o", "x.jpg"}),
                 2, ".jpg");
    expect_error(bench().run({"ring", "-w", "tiny.safetensors"}), 2, "nothing to write",
                 "--output");
    expect_error(bench().run({"index.json", "-w", "tiny.safetensors", "-o", "x.mp4"}), 2,
                 "2 scenes", "{scene}");
    bench().rows({"index.json", "-o", "both", "--overwrite"});
    EXPECT_TRUE(fs::is_directory(bench() / "both"));
  };
  effects["start-index"] = [] {
    EXPECT_EQ(bench().rows({"-o", "later", "--start-index", "7", "--overwrite"})[1]["file"],
              "later/0008.png");
  };
  effects["size"] = [] {
    expect_other({"--size", "48x32"});
    expect_error(bench().run({"ring", "-w", "tiny.safetensors", "-o", "x", "--size", "33x24"}), 2,
                 "33x24", "32x24");
  };
  effects["render-size"] = [] {
    bench().rows({"-o", "large", "--render-size", "64x40", "--overwrite"});
    EXPECT_EQ(picture(bench() / "large/0000.png").width, 64);
  };
  effects["overwrite"] = [] {
    bench().rows({"-o", "once", "--overwrite"});
    expect_error(bench().run({"ring", "-w", "tiny.safetensors", "--size", "32x24", "-o", "once"}),
                 5, "exists", "--overwrite");
    bench().rows({"-o", "once", "--overwrite"});
  };
  effects["resume"] = [] {
    const Arguments run{"-o", "again", "--path", "orbit", "--frames", "4"};
    const auto with = [&](const char* flag) {
      Arguments all = run;
      all.emplace_back(flag);
      return all;
    };
    bench().rows(with("--overwrite"));
    const std::string last = read_text_file(bench() / "again/0003.png");
    fs::remove(bench() / "again/0002.png");
    fs::remove(bench() / "again/0003.png");
    const auto rows = bench().rows(with("--resume"));
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0]["view"], 2);
    EXPECT_EQ(read_text_file(bench() / "again/0003.png"), last);
    EXPECT_EQ(bench().rows(with("--resume")).size(), 1U);
    expect_error(bench().run({"ring", "-w", "tiny.safetensors", "--size", "32x24", "-o", "again",
                              "--path", "orbit", "--frames", "5", "--resume"}),
                 2, "can't resume", "--overwrite");
  };
}

void add_files(Effects& effects) {
  effects["metrics"] = [] {
    const auto rows = bench().rows({"--metrics", "m.json", "--overwrite"});
    const Json metrics = Json::parse(read_text_file(bench() / "m.json"));
    ASSERT_EQ(metrics["views"].size(), 2U);
    EXPECT_EQ(metrics["views"][1]["index"], 3);
    EXPECT_EQ(metrics["views"][1]["psnr"], rows[1]["psnr"]);
    EXPECT_TRUE(metrics["mean"].contains("ssim"));
    bench().rows({"--metrics", "m.csv", "--path", "orbit", "--frames", "2", "--overwrite"});
    EXPECT_NE(read_text_file(bench() / "m.csv").find("psnr"), std::string::npos);
    expect_error(bench().run({"ring", "-w", "tiny.safetensors", "--metrics", "m.txt"}), 2, "m.txt");
  };
  effects["baseline"] = [] {
    // View 4 is an input: its nearest input view is itself.
    const auto rows =
        bench().rows({"--baseline", "nearest", "--input-views", "0,4", "--target-views", "4,5",
                      "--tensors", "b.safetensors", "--metrics", "b.json", "--overwrite"});
    EXPECT_TRUE(rows[0]["psnr"].is_null() || rows[0]["psnr"].get<double>() > 100);
    EXPECT_LT(rows[1]["psnr"].get<double>(), 40);
    const WeightFile file = WeightFile::open(bench() / "b.safetensors");
    const at::Tensor shown = file.read("rendered");
    EXPECT_TRUE(at::equal(shown[0], shown[1])) << "4 is nearest to 5 as well";
    for (const Arguments& more : {Arguments{"--no-inner-update"}, {"--render-size", "64x40"}}) {
      Arguments arguments{"ring", "-w",    "tiny.safetensors", "--size", "32x24",
                          "-o",   "x.gif", "--baseline",       "nearest"};
      arguments.insert(arguments.end(), more.begin(), more.end());
      expect_error(bench().run(arguments), 2, "exclude each other");
    }
  };
  effects["tensors"] = [] {
    const WeightFile file = [] {
      plain();
      return WeightFile::open(bench() / "t.safetensors");
    }();
    ASSERT_NE(file.find("rendered"), nullptr);
    EXPECT_EQ(file.find("rendered")->shape, (std::vector<std::int64_t>{2, 3, 24, 32}));
    expect_error(bench().run({"ring", "-w", "tiny.safetensors", "--tensors", "t.pt"}), 2, "t.pt");
  };
  effects["sheet"] = [] {
    bench().rows({"--sheet", "sheet.png", "--overwrite"});
    EXPECT_GT(picture(bench() / "sheet.png").width, 300);
  };
  effects["rig"] = [] {
    bench().rows({"--rig", "rig.png", "--tensors", "r.safetensors", "--overwrite"});
    const Image beside = picture(bench() / "rig.png");
    EXPECT_GT(beside.width, 300);
    // Alone it takes no reconstruction.
    const Arguments alone{"--rig", "rig.png", "--save-selection", "rig.json", "--overwrite"};
    EXPECT_FALSE(bench().summary(alone)["scenes"][0].contains("reconstruct_ms"));
    EXPECT_EQ(picture(bench() / "rig.png").rgb, beside.rgb);
    EXPECT_TRUE(fs::exists(bench() / "rig.json"));
  };
  effects["format"] = [] {
    const Arguments run{"ring",      "-w",     "tiny.safetensors", "--size",  "32x24",
                        "--metrics", "f.json", "--overwrite",      "--format"};
    const auto text = [&](const char* format) {
      Arguments all = run;
      all.emplace_back(format);
      return bench().run(all).out;
    };
    EXPECT_NE(text("table").find("mean PSNR"), std::string::npos);
    EXPECT_NE(text("csv").find("scene,view,status,psnr"), std::string::npos);
    EXPECT_TRUE(Json::parse(text("json")).contains("results"));
  };
}

void add_perceptual(Effects& effects) {
  effects["lpips-weights"] = [] {
    write_lpips_weights(bench() / "lpips.safetensors");
    // Target 4 is an input, which the baseline shows in place of itself.
    Arguments call{"--baseline", "nearest",   "--input-views", "0,4",         "--target-views",
                   "4,5",        "--metrics", "l.json",        "--overwrite", "-o",
                   "l"};
    const auto without = bench().rows(call);
    EXPECT_FALSE(without[0].contains("lpips"));
    EXPECT_EQ(read_text_file(bench() / "l.json").find("lpips"), std::string::npos);
    call.insert(call.end(), {"--lpips-weights", "lpips.safetensors"});
    const auto rows = bench().rows(call);
    EXPECT_NEAR(rows[0]["lpips"].get<double>(), 0, 1e-6);
    EXPECT_GT(rows[1]["lpips"].get<double>(), 0.01);
    EXPECT_EQ(rows[1]["psnr"], without[1]["psnr"]);
    const Json metrics = Json::parse(read_text_file(bench() / "l.json"));
    EXPECT_EQ(metrics["views"][1]["lpips"], rows[1]["lpips"]);
    EXPECT_NEAR(metrics["mean"]["lpips"].get<double>(), rows[1]["lpips"].get<double>() / 2, 1e-6);
    EXPECT_EQ(rows.back()["scenes"][0]["mean"]["lpips"], metrics["mean"]["lpips"]);
    call.insert(call.end(), {"--format", "csv"});
    call.insert(call.begin(), {"ring", "-w", "tiny.safetensors", "--size", "32x24"});
    EXPECT_TRUE(contains(bench().run(call).out, "psnr,ssim,lpips,file"));
    call.back() = "table";
    EXPECT_TRUE(contains(bench().run(call).out, "LPIPS 0.0000"));
    EXPECT_GT(dry_run({"--lpips-weights", "lpips.safetensors"})["memory_mib"]["lpips"], 0);
    const auto refused = [](const Arguments& more) {
      return bench().run(plus({"ring", "-w", "tiny.safetensors", "-o", "x"}, more));
    };
    expect_error(refused({"--lpips-weights", "nosuch.pth"}), 3, "nosuch.pth");
    expect_error(refused({"--lpips-weights", "tiny.safetensors"}), 3, "neither VGG16", "vgg.pth");
    expect_error(refused({"--lpips-weights", "lpips.safetensors", "--size", "12"}), 2,
                 "12x12 are too small", "16x16");
    expect_error(refused({"--lpips-weights", "lpips.safetensors", "--path", "orbit"}), 2,
                 "nothing is compared", "--metrics");
  };
}

void add_running(Effects& effects) {
  effects["device"] = [] {
    const Json summary = bench().summary({"--device", "cpu", "--metrics", "d.json", "--overwrite"});
    EXPECT_EQ(summary["device"], "cpu");
    EXPECT_GT(summary["memory_mib"]["loaded"].get<double>(), 1);
    EXPECT_GT(summary["memory_mib"]["peak_above_loaded"].get<double>(), 0);
    expect_error(bench().run({"ring", "-w", "tiny.safetensors", "-o", "x", "--device", "tpu"}), 2,
                 "tpu");
  };
  effects["backend"] = [] { expect_other({"--backend", "reference"}); };
  effects["dtype"] = [] { expect_other({"--dtype", "bf16"}); };
  effects["ns-dtype"] = [] {
    EXPECT_NE(bench().tensors({"--backend", "reference", "--ns-dtype", "bf16"}),
              bench().tensors({"--backend", "reference"}));
  };
  effects["tf32"] = [] { EXPECT_TRUE(dry_run({"--tf32"})["tf32"].get<bool>()); };
  effects["threads"] = [] { EXPECT_EQ(dry_run({"--threads", "3"})["threads"], 3); };
  effects["workers"] = [] {
    EXPECT_EQ(bench().tensors({"--workers", "1"}), plain());
    expect_error(bench().run({"ring", "--workers", "0"}), 2, "0");
  };
  effects["tile"] = [] {
    EXPECT_LT(dry_run({"--tile", "16"})["memory_mib"]["render"].get<double>(),
              dry_run({})["memory_mib"]["render"].get<double>());
  };
  effects["dry-run"] = [] {
    const Json row = dry_run({"-o", "dry"});
    EXPECT_EQ(row["status"], "dry-run");
    EXPECT_EQ(row["tokens"], 4 * 48);
    EXPECT_GT(row["memory_mib"]["peak"].get<double>(), 0);
    EXPECT_FALSE(fs::exists(bench() / "dry"));
  };
}

}  // namespace

void add_render_result_effects(Effects& effects) {
  add_state(effects);
  add_output(effects);
  add_files(effects);
  add_perceptual(effects);
  add_running(effects);
}

}  // namespace ttt::test
