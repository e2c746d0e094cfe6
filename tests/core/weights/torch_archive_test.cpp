// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/core/weights/weight_test_files.h"

#include <ATen/ATen.h>

namespace ttt {
namespace {

namespace fs = std::filesystem;

/// Every tensor of the torch file equals its safetensors twin, bit for bit.
void expect_twins(const fs::path& torch_path, const fs::path& twin_path,
                  const WeightFileOptions& options = {}) {
  const WeightFile torch_file = WeightFile::open(torch_path, options);
  const WeightFile twin = WeightFile::open(twin_path);
  EXPECT_EQ(torch_file.container(), "torch-zip");
  EXPECT_EQ(torch_file.tensors().size(), twin.tensors().size());
  for (const TensorInfo& info : twin.tensors()) {
    const TensorInfo* other = torch_file.find(info.name);
    ASSERT_NE(other, nullptr) << info.name;
    EXPECT_EQ(other->shape, info.shape) << info.name;
    EXPECT_EQ(other->dtype, info.dtype) << info.name;
    const at::Tensor a = torch_file.read(info.name);
    const at::Tensor b = twin.read(info.name);
    EXPECT_TRUE(a.is_contiguous());
    ASSERT_EQ(a.nbytes(), b.nbytes());
    EXPECT_EQ(std::memcmp(a.data_ptr(), b.data_ptr(), a.nbytes()), 0) << info.name;
  }
}

TEST(TorchArchive, GoldenCheckpointsEqualTheirTwins) {
  TTT_REQUIRE_SHARED("golden/vision/vit3_tiny32.pth");
  const fs::path golden = test::shared("golden/vision");
  expect_twins(golden / "vit3_tiny32.pth", golden / "vit3_tiny32.safetensors");
  expect_twins(golden / "hvit3_micro.pth", golden / "hvit3_micro_ema.safetensors");
  expect_twins(golden / "dit3_micro.pt", golden / "dit3_micro_ema.safetensors");
}

TEST(TorchArchive, OffsetsStridesAndPrefixesOfTheModuleFileAreApplied) {
  TTT_REQUIRE_SHARED("golden/vision/vit3_tiny32_module.pth");
  const fs::path golden = test::shared("golden/vision");
  const test::LogCapture log;
  expect_twins(golden / "vit3_tiny32_module.pth", golden / "vit3_tiny32.safetensors");
  EXPECT_CONTAINS(log.text(), "removed module. from");
  EXPECT_CONTAINS(log.text(), "taking the dictionary \"model\"");
}

}  // namespace
}  // namespace ttt
