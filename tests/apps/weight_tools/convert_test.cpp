// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/weight_tools/convert.h"

#include "core/error.h"
#include "core/weights/safetensors_writer.h"
#include "tests/support/paths.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace ttt::cli {
namespace {

namespace fs = std::filesystem;
using test::TempDir;

void expect_same(const fs::path& left, const fs::path& right) {
  const WeightFile a = WeightFile::open(left);
  const WeightFile b = WeightFile::open(right);
  ASSERT_EQ(a.tensors().size(), b.tensors().size());
  for (const TensorInfo& info : a.tensors()) {
    ASSERT_NE(b.find(info.name), nullptr) << info.name;
    EXPECT_EQ(b.find(info.name)->shape, info.shape);
    EXPECT_EQ(b.find(info.name)->dtype, info.dtype);
    const at::Tensor x = a.read(info.name);
    const at::Tensor y = b.read(info.name);
    EXPECT_EQ(std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()), 0) << info.name;
  }
}

ErrorKind error_kind(const ConvertOptions& options) {
  try {
    run_convert(options);
  } catch (const Error& error) {
    EXPECT_FALSE(error.hint().empty());
    return error.kind();
  }
  ADD_FAILURE() << "no error";
  return ErrorKind::internal;
}

TEST(Convert, CheckpointsBecomeTheirTwinsBitForBit) {
  TTT_REQUIRE_SHARED("golden/vision/hvit3_micro.pth");
  const TempDir folder;
  const fs::path golden = test::shared("golden/vision");
  const ConvertResult result =
      run_convert({golden / "hvit3_micro.pth", folder / "new" / "out.safetensors", {}, "", false});
  EXPECT_EQ(result.converted, 0U);
  EXPECT_EQ(result.bytes, fs::file_size(folder / "new" / "out.safetensors"));
  expect_same(folder / "new" / "out.safetensors", golden / "hvit3_micro_ema.safetensors");
  run_convert({folder / "new" / "out.safetensors", folder / "again.safetensors", {}, "", false});
  expect_same(folder / "again.safetensors", golden / "hvit3_micro_ema.safetensors");
  run_convert({golden / "vit3_tiny32_module.pth", folder / "m.safetensors", {}, "model", false});
  expect_same(folder / "m.safetensors", golden / "vit3_tiny32.safetensors");
}

TEST(Convert, OnlyFloatingTensorsChangeTypeAndMetadataStays) {
  const TempDir folder;
  const at::Tensor values = at::tensor({1.0F, 0.1F, -3.5F});
  write_safetensors(folder / "in.safetensors",
                    std::vector<NamedTensor>{{"w", values}, {"n", at::ones({2}, at::kLong)}},
                    {{"labels", "cat"}});
  const ConvertResult result =
      run_convert({folder / "in.safetensors", folder / "out.safetensors", DType::bf16, "", false});
  EXPECT_EQ(result.converted, 1U);
  const WeightFile file = WeightFile::open(folder / "out.safetensors");
  EXPECT_EQ(file.metadata().at("labels"), "cat");
  EXPECT_EQ(file.find("n")->dtype, DType::i64);
  EXPECT_TRUE(at::equal(file.read("w"), values.to(at::kBFloat16)));
}

TEST(Convert, OverflowIsAnErrorThatLeavesNoFile) {
  const TempDir folder;
  const float inf = std::numeric_limits<float>::infinity();
  write_safetensors(folder / "in.safetensors",
                    std::vector<NamedTensor>{{"big", at::tensor({1.0F, 70000.0F})}});
  ConvertOptions options{folder / "in.safetensors", folder / "out.safetensors", DType::f16, "",
                         false};
  EXPECT_EQ(error_kind(options), ErrorKind::weights);
  EXPECT_FALSE(fs::exists(folder / "out.safetensors"));
  // What was infinite before is not a loss.
  write_safetensors(folder / "in.safetensors",
                    std::vector<NamedTensor>{{"big", at::tensor({1.0F, inf})}});
  EXPECT_EQ(run_convert(options).converted, 1U);
}

TEST(Convert, OutputRules) {
  const TempDir folder;
  write_safetensors(folder / "in.safetensors", std::vector<NamedTensor>{{"w", at::ones({4})}});
  const ConvertOptions good{folder / "in.safetensors", folder / "out.SAFETENSORS", {}, "", false};
  ConvertOptions options = good;
  options.output = folder / "out.pth";
  EXPECT_EQ(error_kind(options), ErrorKind::output);
  options.output = folder / "out";
  EXPECT_EQ(error_kind(options), ErrorKind::output);
  options = good;
  options.dtype = DType::i64;
  EXPECT_EQ(error_kind(options), ErrorKind::usage);
  options = good;
  options.weights_key = "ema";
  EXPECT_EQ(error_kind(options), ErrorKind::weights);
  options = good;
  options.input = folder / "absent.pth";
  EXPECT_EQ(error_kind(options), ErrorKind::weights);
  run_convert(good);
  EXPECT_EQ(error_kind(good), ErrorKind::output);
  options = good;
  options.overwrite = true;
  EXPECT_EQ(run_convert(options).tensors, 1U);
  // Input and output may be the same file: the old content is read until the new one is complete.
  options.output = options.input;
  options.dtype = DType::f16;
  EXPECT_EQ(run_convert(options).converted, 1U);
  EXPECT_EQ(WeightFile::open(options.input).read("w").sum().item<float>(), 4.0F);
}

TEST(Convert, DtypeNames) {
  EXPECT_EQ(parse_convert_dtype("keep"), std::nullopt);
  EXPECT_EQ(parse_convert_dtype("fp16"), DType::f16);
  EXPECT_EQ(parse_convert_dtype("bf16"), DType::bf16);
  EXPECT_EQ(parse_convert_dtype("fp32"), DType::f32);
  EXPECT_THROW(parse_convert_dtype("int8"), Error);
}

}  // namespace
}  // namespace ttt::cli
