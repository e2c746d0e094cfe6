// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/core/weights/weight_test_files.h"

#include <ATen/ATen.h>

#include <filesystem>

namespace ttt {
namespace {

namespace fs = std::filesystem;
using test::open_error;
using test::safetensors_bytes;
using test::TempDir;
using test::write_bytes;

std::string error_of_header(const std::string& header, std::size_t data_size) {
  return open_error(safetensors_bytes(header, data_size));
}

TEST(Safetensors, ReadsNamesTypesShapesAndMetadata) {
  const TempDir folder;
  std::string bytes = safetensors_bytes(
      R"({"__metadata__":{"size":"224"},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
      R"("a":{"dtype":"I64","shape":[],"data_offsets":[8,16]},)"
      R"("none":{"dtype":"BF16","shape":[0,3],"data_offsets":[16,16]}}  )",
      16);
  const float values[2] = {1.5F, -2.0F};
  std::memcpy(bytes.data() + bytes.size() - 16, values, 8);
  bytes[bytes.size() - 8] = 7;
  write_bytes(folder / "weights.bin", bytes);
  const WeightFile file = WeightFile::open(folder / "weights.bin");

  EXPECT_EQ(file.container(), "safetensors");
  EXPECT_EQ(file.metadata().at("size"), "224");
  ASSERT_EQ(file.tensors().size(), 3U);
  EXPECT_EQ(file.tensors()[0].name, "b");
  EXPECT_EQ(file.tensors()[1].dtype, DType::i64);
  EXPECT_EQ(file.tensors()[2].shape, (std::vector<std::int64_t>{0, 3}));
  EXPECT_EQ(file.file_size(), bytes.size());
  EXPECT_TRUE(at::equal(file.read("b"), at::tensor({1.5F, -2.0F})));
  EXPECT_EQ(file.read("a").item<std::int64_t>(), 7);
  EXPECT_EQ(file.read("none").sizes(), (at::IntArrayRef{0, 3}));
  EXPECT_EQ(file.find("c"), nullptr);
  EXPECT_THROW(file.read("c"), Error);
}

TEST(Safetensors, WritingToATensorLeavesTheFileAlone) {
  const TempDir folder;
  const std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  )";
  write_bytes(folder / "a", safetensors_bytes(header, 8));
  const std::string before = test::read_bytes(folder / "a");
  WeightFile::open(folder / "a").read("a").fill_(3);
  EXPECT_EQ(test::read_bytes(folder / "a"), before);
}

TEST(Safetensors, TensorsOutliveTheFileObjectAndUnalignedDataIsRead) {
  const TempDir folder;
  // A header length of 8k+3 puts the float at an odd address.
  std::string bytes = safetensors_bytes(R"({"u":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                        R"("f":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}})",
                                        5);
  const float value = 0.25F;
  std::memcpy(bytes.data() + bytes.size() - 4, &value, 4);
  write_bytes(folder / "a", bytes);
  at::Tensor f;
  at::Tensor u;
  {
    const WeightFile file = WeightFile::open(folder / "a");
    f = file.read("f");
    u = file.read("u");
  }
  fs::remove(folder / "a");
  EXPECT_EQ(f.item<float>(), 0.25F);
  EXPECT_EQ(u.item<int>(), 0);
}

TEST(Safetensors, EveryTypeIsRead) {
  const TempDir folder;
  for (const char* name : {"F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2", "I64", "I32", "I16",
                           "I8", "U64", "U32", "U16", "U8", "BOOL"}) {
    const std::size_t size = element_size(*dtype_from_safetensors(name));
    write_bytes(folder / "a", safetensors_bytes(std::string(R"({"a":{"dtype":")") + name +
                                                    R"(","shape":[2],"data_offsets":[0,)" +
                                                    std::to_string(2 * size) + "]}}",
                                                2 * size));
    const at::Tensor tensor = WeightFile::open(folder / "a").read("a");
    EXPECT_EQ(tensor.nbytes(), 2 * size) << name;
    EXPECT_EQ(tensor.to(at::kDouble).sum().item<double>(), 0) << name;
  }
}

TEST(Safetensors, GoldenFileIsReadAndHashed) {
  TTT_REQUIRE_SHARED("golden/vision/vit3_tiny32.safetensors");
  const WeightFile file = WeightFile::open(test::shared("golden/vision/vit3_tiny32.safetensors"));
  EXPECT_EQ(file.content_hash().substr(0, 12), "5dc56cb2ca68");
  ASSERT_NE(file.find("blocks.0.attn.qkv.weight"), nullptr);
  EXPECT_TRUE(at::isfinite(file.read("blocks.0.attn.qkv.weight")).all().item<bool>());
}

TEST(Safetensors, EveryCutIsAnErrorWithBothSizes) {
  const std::string whole =
      safetensors_bytes(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const std::string error = open_error(whole.substr(0, size));
    if (size <= 8) continue;
    EXPECT_CONTAINS(error, "truncated");
    EXPECT_CONTAINS(error, std::to_string(size));
  }
  EXPECT_CONTAINS(open_error(whole.substr(0, whole.size() - 1)),
                  std::to_string(whole.size()) + " bytes expected, " +
                      std::to_string(whole.size() - 1) + " found");
}

TEST(Safetensors, HeaderLengthBombsAreRefused) {
  std::string bomb = std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{\"a\":1}", 15);
  EXPECT_CONTAINS(open_error(bomb), "the format allows 100000000");
  bomb = std::string("\x00\x00\x00\x05\x00\x00\x00\x00{\"a\":1}", 15);
  EXPECT_CONTAINS(open_error(bomb), "truncated");
  EXPECT_CONTAINS(error_of_header("{" + std::string(1 << 20, '['), 0), "not valid");
  EXPECT_CONTAINS(error_of_header(R"({"a":)" + std::string(1 << 20, '{'), 0), "not valid");
}

TEST(Safetensors, WrongSizesAndOffsetsNameTheTensor) {
  const auto one = [](const std::string& dtype, const std::string& shape,
                      const std::string& offsets) {
    return R"({"w.x":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" +
           offsets + "}}";
  };
  const struct {
    std::string header;
    const char* part;
  } cases[] = {
      {one("F32", "[2]", "[0,4]"), "needs 8 bytes"},
      {one("F32", "[2]", "[8,0]"), "needs 8 bytes"},
      {one("F32", "[-2]", "[0,8]"), "negative number -2"},
      {one("F32", "[2.0]", "[0,8]"), "fraction"},
      {one("F32", "[1e2]", "[0,8]"), "fraction"},
      {one("F32", "[\"2\"]", "[0,8]"), "a text"},
      {one("F32", "[[2]]", "[0,8]"), "a list"},
      {one("F32", "[null]", "[0,8]"), "null"},
      {one("F32", "2", "[0,8]"), "the number 2"},
      {one("F32", "[2]", "[0,8,9]"), "more than two"},
      {one("F32", "[2]", "[0]"), "lacks"},
      {one("F32", "[2]", "[]"), "lacks"},
      {one("F32", "[4294967296,4294967296]", "[0,8]"), "impossible shape"},
      {one("F32", "[0,9223372036854775807,9223372036854775807]", "[0,0]"), "impossible shape"},
      {one("F32", "[18446744073709551615]", "[0,8]"), "63 bits"},
      {one("F32", "[18446744073709551616]", "[0,8]"), "beyond 64 bits"},
      {one("F4", "[2]", "[0,8]"), "dtype \"F4\""},
      {one("C64", "[1]", "[0,8]"), "dtype \"C64\""},
      {one("f32", "[2]", "[0,8]"), "dtype \"f32\""},
      {R"({"w.x":{"shape":[2],"data_offsets":[0,8]}})", "lacks"},
      {R"({"w.x":{"dtype":"F32","data_offsets":[0,8]}})", "lacks"},
      {R"({"w.x":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "twice"},
      {R"({"w.x":{"dtype":"F32","shape":[2],"shape":[2],"data_offsets":[0,8]}})", "twice"},
      {R"({"w.x":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"extra":1}})", "unknown field"},
  };
  for (const auto& item : cases) {
    const std::string error = error_of_header(item.header, 8);
    EXPECT_CONTAINS(error, item.part) << item.header;
    EXPECT_CONTAINS(error, "w.x") << item.header;
  }
  std::string many = "[1";
  for (int i = 0; i < 80; ++i) many += ",1";
  EXPECT_CONTAINS(error_of_header(one("F32", many + "]", "[0,4]"), 4), "dimensions");
}

TEST(Safetensors, OverlapsGapsAndTrailingBytesAreRefused) {
  const auto two = [](const std::string& first, const std::string& second) {
    return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + first +
           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}";
  };
  EXPECT_CONTAINS(error_of_header(two("[0,4]", "[2,6]"), 8), "overlap");
  EXPECT_CONTAINS(error_of_header(two("[0,4]", "[0,4]"), 8), "overlap");
  EXPECT_CONTAINS(error_of_header(two("[0,4]", "[5,9]"), 9), "gap");
  EXPECT_CONTAINS(error_of_header(two("[1,5]", "[5,9]"), 9), "gap");
  EXPECT_CONTAINS(error_of_header(two("[0,4]", "[4,8]"), 9), "1 bytes after");
  EXPECT_CONTAINS(error_of_header(two("[0,4]", "[4,8]"), 7), "truncated");
  EXPECT_CONTAINS(error_of_header(two("[0,4]", "[18446744073709551611,18446744073709551615]"), 8),
                  "truncated");
}

TEST(Safetensors, DamagedHeadersAreRefused) {
  const std::string good = R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  EXPECT_CONTAINS(error_of_header("{" + good + "," + good + "}", 1), "\"a\" occurs twice");
  EXPECT_CONTAINS(error_of_header("{" + good, 1), "breaks off");
  EXPECT_CONTAINS(error_of_header("{" + good + "}x", 1), "breaks off");
  EXPECT_CONTAINS(error_of_header("{" + good + R"(,"b":3})", 1), "the number 3");
  EXPECT_CONTAINS(error_of_header("{" + good + R"(,"__metadata__":{"k":1}})", 1), "the number 1");
  EXPECT_CONTAINS(error_of_header("{" + good + R"(,"__metadata__":{"k":{}}})", 1), "an object");
  EXPECT_CONTAINS(error_of_header("{\"\xff\xfe\":{}}", 1), "breaks off");
  EXPECT_CONTAINS(error_of_header("{" + good + R"(,"__metadata__":{"k":"1","k":"2"}})", 1),
                  "twice");
}

class SafetensorsIndex : public ::testing::Test {
 protected:
  void write_shards(const std::string& index) {
    const auto shard = [](const std::string& name) {
      return safetensors_bytes(
          R"({")" + name + R"(":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1);
    };
    write_bytes(folder / "one.safetensors", shard("a"));
    write_bytes(folder / "two.safetensors", shard("b"));
    write_bytes(folder / "model.safetensors.index.json", index);
  }
  std::string error() {
    try {
      WeightFile::open(folder / "model.safetensors.index.json");
    } catch (const Error& caught) {
      EXPECT_EQ(caught.kind(), ErrorKind::weights);
      return caught.what();
    }
    return "no error";
  }
  TempDir folder;
};

TEST_F(SafetensorsIndex, ShardsBecomeOneFile) {
  write_shards(R"({"metadata":{"total_size":2},
                   "weight_map":{"a":"one.safetensors","b":"two.safetensors"}})");
  for (const fs::path& path : {folder.path(), folder / "model.safetensors.index.json"}) {
    const WeightFile file = WeightFile::open(path);
    EXPECT_EQ(file.tensors().size(), 2U);
    EXPECT_EQ(file.read("b").numel(), 1);
    EXPECT_EQ(file.content_hash().size(), 64U);
  }
}

TEST_F(SafetensorsIndex, MissingShardsAndTensorsAreNamed) {
  write_shards(R"({"weight_map":{"a":"one.safetensors","b":"three.safetensors"}})");
  EXPECT_CONTAINS(error(), "three.safetensors");
  write_shards(R"({"weight_map":{"a":"one.safetensors","c":"two.safetensors"}})");
  EXPECT_CONTAINS(error(), "\"c\"");
}

TEST_F(SafetensorsIndex, TensorsOutsideTheIndexAreListed) {
  write_shards(R"({"weight_map":{"a":"one.safetensors"}})");
  EXPECT_EQ(WeightFile::open(folder / "model.safetensors.index.json").tensors().size(), 1U);
  write_bytes(folder / "one.safetensors",
              safetensors_bytes(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                R"("z":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
                                2));
  const WeightFile file = WeightFile::open(folder / "model.safetensors.index.json");
  ASSERT_EQ(file.skipped().size(), 1U);
  EXPECT_CONTAINS(file.skipped()[0], "z");
}

TEST_F(SafetensorsIndex, BadIndicesAreRefused) {
  for (const char* index : {R"({"weight_map":{}})", R"({"weight_map":[1]})", R"({"weight_map":)",
                            R"({"a":1})", R"({"weight_map":{"a":1}})"}) {
    write_shards(index);
    EXPECT_CONTAINS(error(), "index") << index;
  }
  for (const char* path : {"../one.safetensors", "/etc/passwd", "sub/one.safetensors", "..", ""}) {
    write_shards(std::string(R"({"weight_map":{"a":")") + path + "\"}}");
    EXPECT_CONTAINS(error(), "outside its folder") << path;
  }
}

}  // namespace
}  // namespace ttt
