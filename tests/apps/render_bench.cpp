// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/render_bench.h"

#include "core/media/encode_png.h"
#include "core/weights/safetensors_writer.h"
#include "nvs/cameras/camera.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/randn.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace ttt::test {
namespace {

constexpr const char* kConfig =
    R"({"patch_size":4,"dim":32,"layers":2,"block":[{"kind":"attention","head_dim":16,)"
    R"("use_qk_norm":true},{"kind":"fast_weights","head_dim":16,"inter_multi":2.0,"base_lr":0.01,)"
    R"("muon_update_steps":5},{"kind":"mlp","inter_multi":4.0}]})";

void write_model(const std::string& path) {
  const at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(7);
  std::vector<NamedTensor> tensors;
  const auto add = [&](const std::string& name, at::IntArrayRef shape) {
    at::Tensor value = at::randn(shape, generator, at::kFloat);
    value.mul_(shape.size() == 1 ? 0.1 : shape.size() == 3 ? 0.3 : 0.15);
    if (shape.size() == 1 && !name.ends_with("bias")) value.add_(1);
    tensors.push_back({name, value});
  };
  add("input_linear.weight", {32, 192});
  add("input_layernorm.weight", {32});
  for (int i = 0; i < 2; ++i) {
    const std::string list = "blocks." + std::to_string(i) + ".module_list.";
    add(list + "0.ln.weight", {32});
    add(list + "0.f.to_qkv.weight", {96, 32});
    add(list + "0.f.c_proj.weight", {32, 32});
    add(list + "0.f.q_norm.weight", {16});
    add(list + "0.f.k_norm.weight", {16});
    add(list + "1.ln.weight", {32});
    add(list + "1.f.w0", {2, 16, 32});
    add(list + "1.f.w1", {2, 32, 16});
    add(list + "1.f.w2", {2, 16, 32});
    add(list + "1.f.to_qkv.weight", {96, 32});
    add(list + "1.f.c_proj.weight", {32, 32});
    add(list + "1.f.lr_fc.weight", {6, 32});
    add(list + "1.f.lr_fc.bias", {6});
    add(list + "1.f.o_norm.weight", {16});
    add(list + "2.ln.weight", {32});
    add(list + "2.f.c_fc.weight", {128, 32});
    add(list + "2.f.c_proj.weight", {32, 128});
  }
  add("image_token_decoder.0.weight", {32});
  add("image_token_decoder.1.weight", {48, 32});
  write_safetensors(path, tensors, {{"ttt_lvsm_config", kConfig}});
}

/// A picture that differs from view to view.
Image view_picture(int view, int shade) {
  Image image{32, 24, std::vector<std::uint8_t>(32 * 24 * 3)};
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x) {
      std::uint8_t* pixel = image.row(y) + 3 * x;
      pixel[0] = static_cast<std::uint8_t>(8 * x);
      pixel[1] = static_cast<std::uint8_t>(10 * y + shade);
      pixel[2] = static_cast<std::uint8_t>(25 * view);
    }
  return image;
}

void write_scene(const std::filesystem::path& folder, int shade) {
  std::filesystem::create_directories(folder);
  nlohmann::json list = nlohmann::json::array();
  const nvs::Intrinsics k = nvs::intrinsics_from_field_of_view(50, 32, 24);
  for (int i = 0; i < 10; ++i) {
    const double angle = 0.6 * i, height = i % 2 == 0 ? 0.6 : 1.2;
    const nvs::Transform pose =
        nvs::look_at({2.4 * std::cos(angle), 2.4 * std::sin(angle), height}, {}, {0, 0, 1});
    const auto m = nvs::matrix4(nvs::inverse(pose));
    nlohmann::json rows = nlohmann::json::array();
    for (std::size_t row = 0; row < 4; ++row)
      rows.push_back({m[4 * row], m[4 * row + 1], m[4 * row + 2], m[4 * row + 3]});
    const std::string file = std::to_string(i) + ".png";
    list.push_back({{"w", 32},
                    {"h", 24},
                    {"fx", k.fx},
                    {"fy", k.fy},
                    {"cx", k.cx},
                    {"cy", k.cy},
                    {"w2c", rows},
                    {"file_path", file}});
    write_text_file(folder / file, encode_png(view_picture(i, shade)));
  }
  write_text_file(folder / "opencv_cameras.json", list.dump());
}

bool has(const RenderBench::Arguments& arguments, const char* flag) {
  return std::find(arguments.begin(), arguments.end(), flag) != arguments.end();
}

}  // namespace

RenderBench::RenderBench() {
  write_model(*this / "tiny.safetensors");
  write_scene(folder_ / "ring", 0);
  write_scene(folder_ / "other", 15);
  write_scene(folder_ / "holes", 5);
  std::filesystem::remove(folder_ / "holes/1.png");
  write_text_file(*this / "holes/2.png", "no picture");
  write_text_file(*this / "index.json",
                  R"(["ring/opencv_cameras.json", "other/opencv_cameras.json"])");
}

ProgramResult RenderBench::run(const Arguments& arguments) const {
  Arguments all{"render"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run_ttt({.arguments = all, .directory = folder_.path()});
}

std::vector<nlohmann::json> RenderBench::rows(const Arguments& arguments, int code) const {
  Arguments all = arguments;
  const bool scene = !arguments.empty() && !arguments[0].starts_with("-");
  if (!scene && !has(arguments, "--state") && !has(arguments, "-i"))
    all.insert(all.begin(), "ring");
  const auto standard = [&](const char* flag, const char* value) {
    if (!has(all, flag)) all.insert(all.end(), {flag, value});
  };
  if (!has(all, "--random-weights") && !has(all, "--weights")) standard("-w", "tiny.safetensors");
  standard("--size", "32x24");
  standard("--format", "jsonl");
  const bool frames = scene || !has(arguments, "--state") || has(arguments, "--add-views");
  const bool chosen = has(all, "--selection") || has(all, "--views") || has(all, "--select") ||
                      has(all, "--targets");
  if (frames && !chosen) {
    standard("--input-views", "0,2,4,6");
    standard("--target-views", "1,3");
  }
  const ProgramResult result = run(all);
  EXPECT_EQ(result.code, code) << result.err;
  return result.json_lines();
}

nlohmann::json RenderBench::summary(const Arguments& arguments) const {
  const auto all = rows(arguments);
  return all.empty() ? nlohmann::json() : all.back();
}

std::string RenderBench::tensors(const Arguments& arguments) const {
  Arguments all = arguments;
  all.insert(all.end(), {"--tensors", "t.safetensors", "--overwrite"});
  rows(all);
  return read_text_file(*this / "t.safetensors");
}

const RenderBench& render_bench() {
  static const RenderBench bench;
  return bench;
}

}  // namespace ttt::test
