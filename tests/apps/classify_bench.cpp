// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/classify_bench.h"

#include "core/weights/safetensors_writer.h"
#include "vision/classification_model.h"
#include "vision/model_catalog.h"

#include <torch/torch.h>

#include <array>

namespace ttt::test {
namespace {

/// A 4x4 RGBA picture whose left half is transparent.
constexpr auto kAlphaPng = std::to_array<unsigned char>(
    {0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52,
     0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x04, 0x08, 0x06, 0x00, 0x00, 0x00, 0xa9, 0xf1, 0x9e,
     0x7e, 0x00, 0x00, 0x00, 0x33, 0x49, 0x44, 0x41, 0x54, 0x78, 0xda, 0x15, 0xc8, 0x21, 0x01, 0x00,
     0x30, 0x0c, 0x03, 0xc1, 0x88, 0x18, 0x2e, 0x9e, 0x88, 0x28, 0x89, 0xe2, 0xb8, 0xea, 0x7e, 0xe0,
     0xc8, 0xa9, 0x92, 0xaa, 0x83, 0xbb, 0x95, 0x57, 0x1d, 0x62, 0x88, 0x21, 0xe6, 0x87, 0x09, 0x13,
     0x26, 0xfc, 0x23, 0x44, 0x88, 0x10, 0xf1, 0x3e, 0x11, 0x0d, 0x19, 0x29, 0x29, 0xe3, 0xe7, 0x58,
     0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82});

/// A 24-bit BMP whose colours depend on the seed.
std::string bmp(int width, int height, unsigned seed) {
  const int stride = (3 * width + 3) / 4 * 4;
  const auto size = static_cast<unsigned>(54 + stride * height);
  std::string file = "BM";
  const auto number = [&file](unsigned value, int bytes) {
    for (int i = 0; i < bytes; ++i) file += static_cast<char>(value >> (8 * i));
  };
  for (const unsigned field :
       {size, 0U, 54U, 40U, static_cast<unsigned>(width), static_cast<unsigned>(height)})
    number(field, 4);
  number(1, 2);
  number(24, 2);
  for (int i = 0; i < 6; ++i) number(0, 4);
  file.resize(size, '\0');
  unsigned state = seed * 2654435761U + 1;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < 3 * width; ++x) {
      state = state * 1664525U + 1013904223U;
      file[static_cast<std::size_t>(54 + y * stride + x)] =
          static_cast<char>((state >> 24) / 2 + static_cast<unsigned>(x * 40 / width));
    }
  }
  return file;
}

void write_model(const std::string& path) {
  const vision::ModelSpec spec{
      vision::Vit3Config{.dim = 48, .depth = 2, .heads = 3, .patch = 8, .classes = 10}};
  const auto model = spec.build();
  model->initialize(7);
  std::vector<NamedTensor> tensors;
  const torch::NoGradGuard no_grad;
  for (const auto& entry : model->named_parameters()) {
    // The initial head hardly tells pictures apart.
    const bool head = entry.key().starts_with("head.");
    tensors.push_back({entry.key(), entry.value().detach() * (head ? 20.0 : 1.0)});
  }
  for (const auto& entry : model->named_buffers()) tensors.push_back({entry.key(), entry.value()});
  write_safetensors(path, tensors);
}

}  // namespace

ClassifyBench::ClassifyBench() {
  namespace fs = std::filesystem;
  write_model(folder_ / "tiny.safetensors");
  fs::create_directory(folder_ / "flat");
  unsigned seed = 0;
  for (const char* name : {"a", "b", "c", "d"})
    write_text_file(folder_ / ("flat/" + std::string(name) + ".bmp"), bmp(40, 48, ++seed));
  write_text_file(folder_ / "alpha.png", std::string(kAlphaPng.begin(), kAlphaPng.end()));
  write_text_file(folder_ / "bad.jpg", "this is no picture\n");
  for (const char* name : {"train/0", "train/1", "test/0", "test/1"}) {
    const fs::path folder = folder_ / ("data/" + std::string(name));
    fs::create_directories(folder);
    write_text_file(folder / "1.bmp", bmp(32, 32, ++seed));
  }
}

ClassifyBench::Arguments ClassifyBench::model() {
  return {"--weights", "tiny.safetensors", "--size", "32x32", "--threads", "1"};
}

ProgramResult ClassifyBench::run(const Arguments& arguments, const std::string& input) const {
  Arguments all{"classify"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run_ttt(ProgramCall{.arguments = all, .input = input, .directory = path()});
}

std::vector<nlohmann::json> ClassifyBench::rows(const Arguments& arguments, int code,
                                                const std::string& input) const {
  Arguments all = model();
  all.insert(all.end(), {"--format", "jsonl"});
  all.insert(all.end(), arguments.begin(), arguments.end());
  const ProgramResult result = run(all, input);
  EXPECT_EQ(result.code, code) << result.err;
  return result.json_lines();
}

nlohmann::json ClassifyBench::row(Arguments arguments) const {
  arguments.insert(arguments.begin(), "flat/a.bmp");
  const auto all = rows(arguments);
  EXPECT_EQ(all.size(), 2U);
  return all.empty() ? nlohmann::json{} : all.front();
}

nlohmann::json ClassifyBench::summary(Arguments arguments) const {
  arguments.insert(arguments.begin(), "flat/a.bmp");
  const auto all = rows(arguments);
  return all.empty() ? nlohmann::json{} : all.back();
}

const ClassifyBench& classify_bench() {
  static const ClassifyBench bench;
  return bench;
}

std::vector<std::string> inputs_of(const std::vector<nlohmann::json>& rows) {
  std::vector<std::string> names;
  for (const auto& row : rows)
    if (row.contains("input")) names.push_back(row["input"]);
  return names;
}

}  // namespace ttt::test
