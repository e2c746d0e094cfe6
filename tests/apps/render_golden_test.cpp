// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// The official script's results, through the program: tensors, pictures, metrics.
#include "core/inputs/read_file.h"
#include "core/media/decode.h"
#include "core/weights/weight_file.h"
#include "tests/apps/run_program.h"
#include "tests/support/paths.h"

#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace ttt::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr double kPicture = 1e-4;

Image read_picture(const fs::path& path) {
  return decode_image(inputs::read_file(path), DecodeMode::photo, path.string());
}

void expect_within_one_level(const fs::path& actual, const fs::path& expected) {
  const Image a = read_picture(actual), b = read_picture(expected);
  ASSERT_EQ(a.rgb.size(), b.rgb.size());
  int worst = 0;
  for (std::size_t i = 0; i < a.rgb.size(); ++i)
    worst = std::max(worst, std::abs(a.rgb[i] - b.rgb[i]));
  EXPECT_LE(worst, 1) << actual;
}

std::string joined(const Json& list) {
  std::string text;
  for (const Json& item : list) text += (text.empty() ? "" : ",") + item.dump();
  return text;
}

struct Golden {
  std::string name, index, mode;
};

void check(const Golden& golden) {
  const fs::path folder = shared("golden/nvs/e2e/" + golden.name);
  const Json expected = Json::parse(read_text_file(folder / "expected.json"));
  const WeightFile tensors = WeightFile::open(folder / "expected.safetensors");
  const auto size = expected["arguments"]["image_size"];
  const TempDir out;
  for (std::size_t i = 0; i < expected["samples"].size(); ++i) {
    SCOPED_TRACE(golden.name + " " + std::to_string(i));
    const Json& sample = expected["samples"][i];
    const std::string pictures = out / ("pictures" + std::to_string(i));
    const std::string state = out / ("state" + std::to_string(i) + ".safetensors");
    const std::vector<std::string> common{"render",         shared(golden.index),
                                          "--scene",        std::to_string(i),
                                          "--weights",      shared("golden/nvs/e2e/model.pt"),
                                          "--config",       shared("golden/nvs/e2e/config.yaml"),
                                          "--mode",         golden.mode,
                                          "--decode",       "official",
                                          "--format",       "jsonl",
                                          "--size",         size[1].dump() + "x" + size[0].dump(),
                                          "--input-views",  joined(sample["inputs"]),
                                          "--target-views", joined(sample["targets"])};
    const auto run = [&](const std::vector<std::string>& more) {
      std::vector<std::string> all = common;
      all.insert(all.end(), more.begin(), more.end());
      const ProgramResult result = run_ttt(all);
      EXPECT_EQ(result.code, 0) << result.err;
      return result.json_lines();
    };
    const auto rows = run({"-o", pictures, "--tensors", out / "t.safetensors", "--metrics",
                           out / "m.json", "--save-state", state, "--overwrite"});
    ASSERT_EQ(rows.size(), sample["targets"].size() + 1);
    const std::string name = "sample" + std::to_string(i) + ".";
    const at::Tensor rendered = WeightFile::open(out / "t.safetensors").read("rendered");
    EXPECT_LE(rendered.sub(tensors.read(name + "f64.rendered")).abs().max().item<double>(),
              kPicture);
    for (std::size_t v = 0; v < sample["targets"].size(); ++v) {
      EXPECT_NEAR(rows[v]["psnr"].get<double>(),
                  sample["psnr_per_target_view_f64"][v].get<double>(), 1e-3);
      char file[64];
      std::snprintf(file, sizeof file, "sample_%06d_view_%02d_rendered.png", static_cast<int>(i),
                    static_cast<int>(v));
      expect_within_one_level(rows[v]["file"].get<std::string>(), folder / "f32" / file);
    }
    const Json metrics = Json::parse(read_text_file(out / "m.json"));
    EXPECT_NEAR(metrics["psnr_of_mean_error"].get<double>(), sample["psnr_f64"].get<double>(),
                1e-3);
    // The official camera path, from the saved state.
    run({"--state", state, "--mode", "auto", "--path",
         golden.mode == "object" ? "turntable" : "interpolate", "--interpolation", "linear",
         "--tensors", out / "t.safetensors", "--overwrite"});
    const at::Tensor frames = WeightFile::open(out / "t.safetensors").read("rendered");
    EXPECT_EQ(frames.size(0), sample["trajectory_frames"].get<std::int64_t>());
    const at::Tensor wanted = tensors.read(name + "f64.trajectory_rendered");
    for (std::int64_t f = 0; f < wanted.size(0); ++f) {
      const auto frame =
          sample["trajectory_frames_rendered"][static_cast<std::size_t>(f)].get<std::int64_t>();
      EXPECT_LE(frames[frame].sub(wanted[f]).abs().max().item<double>(), kPicture) << frame;
    }
  }
}

TEST(RenderGolden, Objects) {
  TTT_REQUIRE_SHARED("golden/nvs/e2e/gso64");
  TTT_REQUIRE_SHARED("data/gso_sample_data_path.json");
  check({"gso64", "data/gso_sample_data_path.json", "object"});
}

TEST(RenderGolden, Scene) {
  TTT_REQUIRE_SHARED("golden/nvs/e2e/scene32x48");
  check({"scene32x48", "golden/nvs/formats/lact/index.json", "scene"});
}

}  // namespace
}  // namespace ttt::test
