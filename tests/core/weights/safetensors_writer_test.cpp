// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/weights/safetensors_writer.h"

#include "tests/core/weights/weight_test_files.h"

#include <ATen/ATen.h>

namespace ttt {
namespace {

using test::TempDir;

std::vector<NamedTensor> sample() {
  return {{"u", at::arange(3, at::kByte)},
          {"f", at::arange(6, at::kFloat).view({2, 3}).t()},
          {"scalar", at::scalar_tensor(7, at::kLong)},
          {"empty", at::empty({0, 4}, at::kBFloat16)},
          {"naïve \"name\"\n", at::ones({2}, at::kBool)}};
}

TEST(SafetensorsWriter, RoundTripKeepsEverything) {
  const TempDir folder;
  const std::map<std::string, std::string> metadata{{"labels", "a\nb"}, {"size", "224"}};
  write_safetensors(folder / "sub" / "w.safetensors", sample(), metadata);
  const WeightFile file = WeightFile::open(folder / "sub" / "w.safetensors");
  EXPECT_EQ(file.metadata(), metadata);
  ASSERT_EQ(file.tensors().size(), 5U);
  EXPECT_EQ(file.tensors()[0].name, "scalar");
  for (const NamedTensor& item : sample()) {
    EXPECT_TRUE(at::equal(file.read(item.name), item.tensor)) << item.name;
    EXPECT_EQ(file.read(item.name).scalar_type(), item.tensor.scalar_type());
  }
}

TEST(SafetensorsWriter, SameInputGivesTheSameBytesAndAlignedData) {
  const TempDir folder;
  write_safetensors(folder / "a", sample());
  write_safetensors(folder / "b", sample());
  const std::string bytes = test::read_bytes(folder / "a");
  EXPECT_EQ(bytes, test::read_bytes(folder / "b"));
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ(length % 8, 0U);
}

TEST(SafetensorsWriter, BadNamesAreRefusedAndLeaveNoFile) {
  const TempDir folder;
  for (const char* name : {"__metadata__", "twice", "\xff"}) {
    const std::vector<NamedTensor> tensors{{"twice", at::ones({1})}, {name, at::ones({1})}};
    try {
      write_safetensors(folder / "w", tensors);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::output);
    }
  }
  EXPECT_THROW(
      write_safetensors(folder / "w",
                        std::vector<NamedTensor>{{"c", at::zeros({1}, at::kComplexFloat)}}),
      Error);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(SafetensorsWriter, AnUnfinishedFileDoesNotAppear) {
  const TempDir folder;
  {
    SafetensorsWriter writer(folder / "w", {{"a", DType::f32, {1}, 0}, {"b", DType::f32, {1}, 0}},
                             {});
    writer.append(at::ones({1}));
    EXPECT_THROW(writer.finish(), Error);
    EXPECT_THROW(writer.append(at::ones({2})), Error);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace ttt
