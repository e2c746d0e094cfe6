// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/weights/pickle_document.h"
#include "tests/core/weights/torch_builder.h"
#include "tests/core/weights/weight_test_files.h"

#include <ATen/ATen.h>

#include <random>

namespace ttt {
namespace {

namespace fs = std::filesystem;
namespace pickle = test::pickle;
using namespace std::string_literals;
using test::number;
using test::open_error;
using test::torch_bytes;
using test::zip_bytes;

std::string repeat(const std::string& text, std::size_t count) {
  std::string result;
  result.reserve(text.size() * count);
  for (std::size_t i = 0; i < count; ++i) result += text;
  return result;
}

std::string tensor_error(const pickle::Tensor& tensor,
                         const std::string& storage = std::string(8, 0)) {
  return open_error(torch_bytes(pickle::dict({{"layer.w", pickle::tensor(tensor)}}), storage));
}

TEST(HostilePickle, DamagedInstructionsAreErrors) {
  for (const std::string& body :
       {"a"s,
        "0"s,
        "}s"s,
        "K\x01R"s,
        "}(K\x01u"s,
        "("s,
        "t"s,
        "]u"s,
        "1"s,
        "2"s,
        "b"s,

        "h\x05"s,
        "j\xff\xff\xff\xff"s,
        "g12\n"s,
        "g99999999999999999999\n"s,
        "g-1\n"s,
        "q\x01"s,
        "p1\n"s,
        "r\xff\xff\xff\xff"s,
        "Ixyz\n"s,
        "I1 2\n"s,
        "L5x\n"s,
        "S no quotes\n"s,
        "S'\n"s,
        "V no end"s,
        "cmodule\n"s,
        "\x93"s,
        "K\x01K\x02\x93"s,
        "\x80\x09"s,
        "\xff"s,
        "\x81"s,
        "N\x81"s,
        "\x92"s,
        "}(K\x01K\x02K\x03u"s,

        "K\x01(a"s,
        "Ne"s,
        "(K\x01K\x02K\x03"s + "d",
        pickle::global("collections", "OrderedDict") + "](K\x01\x85"s + "e\x85R"})
    EXPECT_CONTAINS(open_error(torch_bytes(body)), "damaged") << body;
}

TEST(HostilePickle, LengthsBeyondTheEndAreErrorsBeforeAnyAllocation) {
  for (const std::string& body :
       {"X\xff\xff\xff\xff"s, "\x8d\xff\xff\xff\xff\xff\xff\xff\xff"s,
        "\x8d"s + number(1ULL << 40, 8), "\x8e\xff\xff\xff\xff\xff\xff\xff\x7f"s,
        "\x96"s + number(1ULL << 62, 8), "\x8b\xff\xff\xff\x7f"s, "\x8b\xff\xff\xff\xff"s,
        "\x8a\xff"s, "B\xff\xff\xff\xff"s, "T\xff\xff\xff\xff"s, "U\xff"s, "C\xff"s, "\x8c\xff"s,
        "X\x01"s, "G\x01"s, "\x95\x01"s})
    EXPECT_CONTAINS(open_error(torch_bytes(body)), "damaged") << body;
}

TEST(HostilePickle, DeepNestingAndCyclesDoNotRecurse) {
  const std::size_t depth = 1'000'000;
  EXPECT_CONTAINS(open_error(torch_bytes(repeat("]", depth) + repeat("a", depth - 1))),
                  "only a list");
  EXPECT_CONTAINS(open_error(torch_bytes("N" + repeat("\x85", depth))), "only a tuple");
  std::string dictionaries =
      repeat("}" + pickle::text("model"), 100'000) + "N" + repeat("s", 100'000);
  EXPECT_CONTAINS(open_error(torch_bytes(dictionaries)), "no dictionary with tensors");
  EXPECT_CONTAINS(open_error(torch_bytes("]q\0h\0a"s)), "only a list");
  // {"model": itself, "ema": itself, "list": [itself]}
  EXPECT_CONTAINS(
      open_error(torch_bytes("}q\0("s + pickle::text("model") + "h\0"s + pickle::text("ema") +
                             "h\0"s + pickle::text("list") + "]h\0a"s + "u")),
      "no dictionary with tensors");
  std::string wrapped = pickle::global("torch._tensor", "_rebuild_from_type_v2");
  EXPECT_CONTAINS(open_error(torch_bytes(wrapped + "q\0)"s + repeat("h\0N"s + "\x87", 0) + "R")),
                  "object");
  // f(f, None, (f, None, (f, None, …)))
  std::string nested =
      wrapped + "q\0"s + repeat("h\0N"s, 100'000) + ")" + repeat("\x87", 100'000) + "R";
  EXPECT_CONTAINS(open_error(torch_bytes(nested)), "whole pickled object");
}

TEST(HostilePickle, FloodsOfValuesAreBounded) {
  EXPECT_CONTAINS(open_error(torch_bytes(repeat("N", 5'000'000))), "more than 4000000 values");
  EXPECT_CONTAINS(open_error(torch_bytes(repeat("N0", 5'000'000))), "more than 4000000 values");
  // One list copied again and again would cost time and memory in its square.
  const std::string pairs = "](" + repeat("NN\x86", 3000) + "eq\0"s;
  EXPECT_CONTAINS(open_error(torch_bytes(pairs + pickle::global("collections", "OrderedDict") +
                                         "q\x01" + repeat("h\x01h\0\x85R"s, 3000))),
                  "more than 4000000 values");
}

TEST(HostilePickle, SharedListsThatUnfoldAndLongNamesTakeNoTime) {
  std::string lists = "]("s + repeat("N", 500) + "eq\0"s;
  for (int level = 0; level < 6; ++level) lists += "]("s + repeat("h\0"s, 500) + "eq\0"s;
  EXPECT_CONTAINS(open_error(torch_bytes(pickle::dict({{"lists", lists}}))), "lists: list");
  const test::TempDir folder;
  const std::pair<std::string, std::string> model{"model",
                                                  pickle::dict({{"w", pickle::tensor({})}})};
  test::write_bytes(folder / "f", torch_bytes(pickle::dict({model, {"lists", lists}})));
  EXPECT_EQ(WeightFile::open(folder / "f").skipped(), std::vector<std::string>{"lists: list"});
  const std::string name = repeat("module.", 1'000'000) + "w";
  EXPECT_CONTAINS(open_error(torch_bytes(pickle::dict({{name, pickle::tensor({})}}))),
                  "a name of 7000001 bytes");
}

TEST(HostilePickle, NothingIsExecuted) {
  const test::TempDir folder;
  const fs::path flag = folder / "executed";
  const std::string system =
      pickle::global("os", "system") + pickle::text("touch " + flag.string()) + "\x85R";
  test::write_bytes(folder / "f",
                    torch_bytes(pickle::dict({{"model", pickle::dict({{"w", pickle::tensor({})}})},
                                              {"evil", system},
                                              {"inst", "(ios\nsystem\n"}})));
  const WeightFile file = WeightFile::open(folder / "f");
  EXPECT_EQ(file.skipped(), (std::vector<std::string>{"evil: os.system", "inst: os.system"}));
  EXPECT_FALSE(fs::exists(flag));
}

TEST(HostilePickle, NamesInMessagesAreSafeToPrint) {
  const std::string error =
      open_error(torch_bytes(pickle::global("\x1b[31mred", "x\x07") + ")\x81"));
  EXPECT_CONTAINS(error, "\\x1B[31mred.x\\x07");
  EXPECT_EQ(error.find('\x1b'), std::string::npos);
}

TEST(HostilePickle, EveryOpcodeIsUnderstood) {
  const std::string type = "cm\nn\n";
  // Each leaves one value, which is popped.
  const std::vector<std::string> values{"\x95"s + number(0, 8) + "N",
                                        "\x88",
                                        "\x89",
                                        "I01\n",
                                        "I-7\n",
                                        "L12L\n",
                                        "L1" + std::string(40, '0') + "L\n",
                                        "J\x01\0\0\x80"s,
                                        "K\x01",
                                        "M\x01\x02",
                                        "\x8a\x01\xff",
                                        "\x8b\x02\0\0\0\x01\x02"s,
                                        "F1.5\n",
                                        "G"s + std::string(8, '\0'),
                                        "S'a'\n",
                                        "Vb\n",
                                        "T\x01\0\0\0c"s,
                                        "U\x01"
                                        "d",
                                        "X\x01\0\0\0e"s,
                                        "\x8c\x01"
                                        "e",
                                        "\x8d"s + number(1, 8) + "f",
                                        "B"s + number(1, 4) + "g",
                                        "C\x01h",
                                        "\x8e"s + number(1, 8) + "i",
                                        "\x96"s + number(1, 8) + "j",
                                        "N(NN1",
                                        "(l",
                                        "(d",
                                        "]",
                                        ")",
                                        "}",
                                        "\x8f(K\x01\x90",
                                        "(K\x01\x91",
                                        "N\x85",
                                        "NN\x86",
                                        "NNN\x87",
                                        "(NNt",
                                        "]Na",
                                        "](NNe",
                                        "}NNs",
                                        "}(NNu",
                                        "(NNd",
                                        "Np5\n0g5\n",
                                        "Nq\x06"
                                        "0h\x06",
                                        "N\x94",
                                        "Nr\x09\0\0\0"s,
                                        "j\x09\0\0\0"s,
                                        "N20",
                                        "\x82\x01",
                                        "\x83\x01\x01",
                                        "\x84\x01\x01\x01\x01",
                                        "\x97\x98",
                                        type,
                                        "(" + type + "No",
                                        "(im\nn\n",
                                        type + ")}\x92",
                                        type + ")\x81}b",
                                        "\x8c\x01m\x8c\x01n\x93",
                                        "Px\n",
                                        "NQ",
                                        type + ")R"};
  std::string body;
  for (const std::string& value : values) body += value + "0";
  const test::TempDir folder;
  test::write_bytes(folder / "f", torch_bytes(body + pickle::dict({{"w", pickle::tensor({})}})));
  EXPECT_EQ(WeightFile::open(folder / "f").tensors().size(), 1U);
}

TEST(HostileTensor, ShapesAndStridesMustFitTheStorage) {
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_CONTAINS(tensor_error({.shape = {3}}), "outside its storage");
  EXPECT_CONTAINS(tensor_error({.offset = 1}), "outside its storage");
  EXPECT_CONTAINS(tensor_error({.strides = {2}}), "outside its storage");
  EXPECT_CONTAINS(tensor_error({.strides = {huge}}), "outside its storage");
  EXPECT_CONTAINS(tensor_error({.offset = huge}), "outside its storage");
  EXPECT_CONTAINS(tensor_error({.shape = {2, 2}, .strides = {huge, huge}}), "outside its storage");
  EXPECT_CONTAINS(tensor_error({.offset = 3, .shape = {0}}), "outside its storage");
  EXPECT_CONTAINS(tensor_error({.offset = -1}), "impossible");
  EXPECT_CONTAINS(tensor_error({.strides = {1, 1}}), "impossible");
  EXPECT_CONTAINS(tensor_error({.shape = {huge, huge}, .strides = {0, 0}}), "impossible");
  EXPECT_CONTAINS(tensor_error({.shape = {-2}}), "no proper shape");
  EXPECT_CONTAINS(tensor_error({.strides = {-1}}), "no proper shape");
  EXPECT_CONTAINS(tensor_error({.shape = std::vector<std::int64_t>(70, 1),
                                .strides = std::vector<std::int64_t>(70, 1)}),
                  "no proper shape");
  EXPECT_CONTAINS(tensor_error({.shape = {std::int64_t{1} << 40}, .strides = {0}}), "claim");
}

TEST(HostileTensor, StoragesMustHaveTheirRecordsAndSizes) {
  EXPECT_CONTAINS(tensor_error({.key = "1"}), "a/data/1");
  EXPECT_CONTAINS(tensor_error({.key = "../0"}), "absent");
  EXPECT_CONTAINS(tensor_error({.elements = 3}),
                  "storage of 3 elements of 4 bytes, but its record has 8");
  EXPECT_CONTAINS(tensor_error({.elements = -2}), "-2 elements");
  EXPECT_CONTAINS(tensor_error({.elements = std::int64_t{1} << 62}), "record has 8");
  EXPECT_CONTAINS(tensor_error({.storage = "DoubleStorage"}), "record has 8");
  EXPECT_CONTAINS(tensor_error({}, "seven b"), "record has 7");
}

TEST(HostileTensor, DescriptionsOfAnotherShapeAreErrors) {
  const std::string rebuild = pickle::global("torch._utils", "_rebuild_tensor_v2");
  for (const std::string& arguments : {")"s, "(NNNNt"s, "(NK\0)"s + ")t", "K\x01\x85"s})
    EXPECT_CONTAINS(open_error(torch_bytes(pickle::dict({{"w", rebuild + arguments + "R"}}))),
                    "described wrongly");
}

TEST(HostileZip, ClaimedSizesThatLieAreErrors) {
  const std::string body = "\x80\x02" + pickle::dict({{"w", pickle::tensor({})}}) + ".";
  const auto error = [&](test::ZipPart part) {
    part.name = "a/data/0";
    if (part.data.empty()) part.data = std::string(8, '\0');
    return open_error(zip_bytes({{"a/data.pkl", body}, part}));
  };
  EXPECT_CONTAINS(error({.claimed_size = 3'000'000'000}), "impossible");
  EXPECT_CONTAINS(error({.claimed_size = 3'000'000'000, .claimed_compressed_size = 3'000'000'000}),
                  "truncated");
  EXPECT_CONTAINS(error({.claimed_size = 4'000'000'000, .method = 8}), "impossible");
  EXPECT_CONTAINS(error({.method = 98}), "method 98");
  EXPECT_CONTAINS(open_error(zip_bytes({{"a/data.pkl", body, 4'000'000'000, 0, 8}})), "at most");
  // A deflated record whose content isn't deflate data is found when it is read.
  const test::TempDir folder;
  test::write_bytes(folder / "f",
                    zip_bytes({{"a/data.pkl", body}, {"a/data/0", "nonsense", 8, 0, 8}}));
  const WeightFile file = WeightFile::open(folder / "f");
  try {
    file.read("w");
    ADD_FAILURE();
  } catch (const Error& caught) {
    EXPECT_EQ(caught.kind(), ErrorKind::weights);
    EXPECT_CONTAINS(caught.what(), "a/data/0");
  }
}

TEST(HostileZip, EveryCutIsAnErrorWithTheSizeFound) {
  const std::string whole =
      test::read_bytes(test::source_dir() / "tests/core/weights/data/kinds.pt");
  for (std::size_t size = 1; size < whole.size(); size += size < 100 ? 1 : 97) {
    const std::string error = open_error(whole.substr(0, size));
    if (size < 8) continue;
    EXPECT_CONTAINS(error, "truncated") << size;
    EXPECT_CONTAINS(error, std::to_string(size) + " found");
  }
  // The pickle at the front tells how much is missing at least.
  EXPECT_CONTAINS(open_error(whole.substr(0, 4000)), "bytes expected, 4000 found");
  EXPECT_CONTAINS(
      open_error(
          torch_bytes(pickle::dict({{"w", pickle::tensor({.elements = 250'000})}})).substr(0, 300)),
      "over 1000");
}

TEST(HostileZip, FlippedTensorBytesFailTheChecksum) {
  const test::TempDir folder;
  std::string bytes = test::read_bytes(test::source_dir() / "tests/core/weights/data/protocol4.pt");
  const float five = 5.0F;  // the last element of 0.weight
  const std::size_t at = bytes.find(std::string(reinterpret_cast<const char*>(&five), 4));
  ASSERT_NE(at, std::string::npos);
  bytes[at + 1] ^= 1;
  test::write_bytes(folder / "f", bytes);
  EXPECT_THROW(WeightFile::open(folder / "f").read("0.weight"), Error);
}

/// Opens and reads everything; only our errors may come out.
void open_and_read(const fs::path& path) {
  try {
    const WeightFile file = WeightFile::open(path);
    for (const TensorInfo& info : file.tensors())
      if (info.bytes <= 1 << 20) file.read(info.name);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::weights) << error.what();
  }
}

TEST(Mutation, DamagedFilesNeverCrash) {
  const test::LogCapture quiet;
  const test::TempDir folder;
  std::mt19937 random(7);
  const char* rounds_text = std::getenv("TTT_MUTATIONS");
  const int rounds = rounds_text != nullptr ? std::atoi(rounds_text) : 60;
  const fs::path data = test::source_dir() / "tests/core/weights/data";
  std::vector<std::string> seeds{test::safetensors_bytes(
      R"({"__metadata__":{"a":"b"},"w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
      R"("v":{"dtype":"BOOL","shape":[],"data_offsets":[8,9]}})",
      9)};
  for (const char* name : {"foreign.pt", "kinds.pt", "deflated.pt", "zip64.pt", "wrapped.pt"})
    seeds.push_back(test::read_bytes(data / name));
  // Pickles in archives without checksums: mutations reach the reader instead of the checksum.
  seeds.push_back(torch_bytes(pickle::dict({{"w", pickle::tensor({})}})));
  seeds.push_back(test::read_bytes(data / "no_checksums_kinds.pt"));
  for (const std::string& seed : seeds) {
    test::write_bytes(folder / "f", seed);
    EXPECT_FALSE(WeightFile::open(folder / "f").tensors().empty());
    for (int round = 0; round < rounds; ++round) {
      std::string bytes = seed;
      const unsigned flips = 1 + random() % 4;
      for (unsigned i = 0; i < flips; ++i) {
        // Half of the mutations hit the front, where headers and pickles lie.
        const std::size_t range =
            random() % 2 ? bytes.size() : std::min<std::size_t>(bytes.size(), 3000);
        bytes[random() % range] = static_cast<char>(random() % 3 ? random() : 0xFF);
      }
      if (random() % 8 == 0) bytes.resize(1 + random() % bytes.size());
      if (random() % 16 == 0) bytes.insert(random() % bytes.size(), bytes.substr(0, random() % 64));
      test::write_bytes(folder / "f", bytes);
      open_and_read(folder / "f");
    }
  }
}

}  // namespace
}  // namespace ttt
