// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/core/weights/torch_builder.h"
#include "tests/core/weights/weight_test_files.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace ttt {
namespace {

namespace fs = std::filesystem;
namespace pickle = test::pickle;
using test::open_error;
using test::torch_bytes;
using test::zip_bytes;
using Names = std::vector<std::string>;

fs::path data(const std::string& name) {
  return test::source_dir() / "tests" / "core" / "weights" / "data" / name;
}

std::string error_of(const fs::path& path, const std::string& key = "") {
  return open_error(test::read_bytes(path), {key});
}

/// Every tensor of the torch file equals its safetensors twin, bit for bit.
void expect_twins(const fs::path& torch_path, const fs::path& twin_path) {
  const WeightFile torch_file = WeightFile::open(torch_path);
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

TEST(TorchArchive, TrainedCifarModelIsRead) {
  TTT_REQUIRE_SHARED("golden/vision/cifar/vit3_cifar.pth");
  const WeightFile file = WeightFile::open(test::shared("golden/vision/cifar/vit3_cifar.pth"));
  std::uint64_t parameters = 0;
  for (const TensorInfo& info : file.tensors()) parameters += element_count(info);
  EXPECT_EQ(parameters, 532330U);
}

TEST(TorchArchive, OffsetsStridesAndPrefixesOfTheModuleFileAreApplied) {
  TTT_REQUIRE_SHARED("golden/vision/vit3_tiny32_module.pth");
  const fs::path golden = test::shared("golden/vision");
  const test::LogCapture log;
  expect_twins(golden / "vit3_tiny32_module.pth", golden / "vit3_tiny32.safetensors");
  EXPECT_CONTAINS(log.text(), "removed module. from 40 tensor names");
  EXPECT_CONTAINS(log.text(), "taking the dictionary \"model\"");
}

TEST(TorchArchive, ForeignObjectsAreSkippedByName) {
  const WeightFile file = WeightFile::open(data("foreign.pt"));
  EXPECT_EQ(file.weights_key(), "model");
  EXPECT_EQ(file.available_keys(), (Names{"", "model"}));
  EXPECT_EQ(file.tensors().size(), 7U);
  EXPECT_EQ(file.read("0.weight")[1][2].item<float>(), 5.0F);
  EXPECT_EQ(file.read("1.num_batches_tracked").item<int>(), 60);
  for (const char* line :
       {"config: yacs.config.CfgNode", "args: argparse.Namespace", "optimizer: dict", "epoch: int",
        "best_accuracy: numpy.core.multiarray.scalar", "big: int", "random: uint8 tensor",
        "meta.history[0]: mmengine.logging.history_buffer.HistoryBuffer"})
    EXPECT_EQ(std::count(file.skipped().begin(), file.skipped().end(), line), 1) << line;
  // The outermost dictionary also holds a tensor; it is taken only on demand.
  EXPECT_EQ(WeightFile::open(data("foreign.pt"), {"."}).tensors().size(), 1U);
}

TEST(TorchArchive, EveryKindOfTensorIsRead) {
  const WeightFile file = WeightFile::open(data("kinds.pt"));
  const at::Tensor base = at::arange(12, at::kFloat);
  const auto expect = [&](const char* name, const at::Tensor& value) {
    const at::Tensor tensor = file.read(name);
    EXPECT_TRUE(tensor.is_contiguous()) << name;
    EXPECT_TRUE(at::equal(tensor, value)) << name << tensor;
  };
  for (const char* name : {"parameter", "buffer"}) expect(name, base.slice(0, 0, 4));
  expect("marked", base.slice(0, 0, 2));
  expect("scalar", at::scalar_tensor(5.0F));
  expect("empty", at::empty({0, 3}));
  expect("transposed", base.view({3, 4}).t());
  expect("middle", base.slice(0, 5, 8));
  expect("every_third", base.slice(0, 1, 12, 3));
  expect("expanded", at::full({3, 2}, 7.0F));
  expect("tied", base);
  for (const char* name :
       {"float64", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int64", "int32", "int16",
        "int8", "uint8", "uint16", "uint32", "uint64", "bool"}) {
    const at::Tensor tensor = file.read(name);
    EXPECT_EQ(to_string(file.find(name)->dtype), name);
    const double sum = std::string(name) == "bool" ? 3 : 7;
    EXPECT_EQ(tensor.to(at::kDouble).sum().item<double>(), sum) << name;
  }
  EXPECT_EQ(file.find("complex"), nullptr);
  EXPECT_EQ(file.find("minus"), nullptr);
  EXPECT_EQ(file.skipped(), (Names{"complex: ComplexFloatStorage tensor",
                                   "minus: FloatStorage tensor with a lazy minus sign"}));
}

TEST(TorchArchive, TiedTensorsDoNotShareMemory) {
  const WeightFile file = WeightFile::open(data("kinds.pt"));
  file.read("tied").fill_(-1);
  EXPECT_EQ(file.read("tied")[3].item<float>(), 3.0F);
}

TEST(TorchArchive, ProtocolsRootsAndCompressionMakeNoDifference) {
  for (const char* name : {"protocol3.pt", "protocol4.pt", "protocol5.pt", "deflated.pt",
                           "zip64.pt", "rootless.pt", "no_checksums.pt"}) {
    const WeightFile file = WeightFile::open(data(name));
    EXPECT_EQ(file.weights_key(), "ema") << name;
    EXPECT_EQ(file.tensors().size(), 7U) << name;
    EXPECT_EQ(file.read("0.weight")[1][2].item<float>(), 5.0F) << name;
    EXPECT_EQ(file.read("1.num_batches_tracked").item<int>(), 60) << name;
  }
}

TEST(TorchArchive, PrefixesInsideAndInFrontAreStrippedInAnyOrder) {
  const test::LogCapture log;
  const WeightFile file = WeightFile::open(data("wrapped.pt"));
  ASSERT_EQ(file.tensors().size(), 2U);
  EXPECT_EQ(file.tensors()[0].name, "a.weight");
  EXPECT_EQ(file.tensors()[1].name, "b.c.weight");
  EXPECT_EQ(file.read("b.c.weight").sum().item<float>(), 6.0F);
  EXPECT_EQ(std::count(log.text().begin(), log.text().end(), '\n'), 2);
}

TEST(TorchArchive, OtherKindsAreRefusedByName) {
  EXPECT_CONTAINS(error_of(data("legacy.pt")), "old torch.save format");
  EXPECT_CONTAINS(error_of(data("legacy.pt")), "save it again with torch.save");
  EXPECT_CONTAINS(error_of(data("whole_model.pt")), "torch.nn.modules.container.Sequential");
  EXPECT_CONTAINS(error_of(data("whole_model.pt")), "save model.state_dict()");
  EXPECT_CONTAINS(error_of(data("script.pt")), "TorchScript");
  EXPECT_CONTAINS(error_of(data("list.pt")), "only a list");
  EXPECT_CONTAINS(error_of(data("bzip2.pt")), "method 12");
  EXPECT_CONTAINS(open_error(zip_bytes({{"x.npy", "1"}, {"y.npy", "2"}})), "NumPy .npz");
  EXPECT_CONTAINS(open_error(zip_bytes({{"word/document.xml", "1"}})), "word/document.xml");
  EXPECT_CONTAINS(open_error(zip_bytes({})), "empty");
  EXPECT_CONTAINS(open_error(zip_bytes({{"a/archive_format", "pt2"}, {"a/x", ""}})),
                  "torch.export");
  EXPECT_CONTAINS(open_error(zip_bytes({{"a/data.pkl", "."}, {"b/data.pkl", "."}})),
                  "more than one");
  EXPECT_CONTAINS(open_error(zip_bytes({{"a/data.pkl", "N."}, {"a/byteorder", "big"}})),
                  "big-endian");
}

TEST(TorchArchive, DictionaryChoice) {
  EXPECT_CONTAINS(error_of(data("nested.pt")), "\"net.encoder\", \"net.decoder\"");
  const std::string nested = test::read_bytes(data("nested.pt"));
  EXPECT_EQ(WeightFile::open(data("nested.pt"), {"net.decoder"}).read("w")[0].item<float>(), 1.0F);
  EXPECT_CONTAINS(error_of(data("nested.pt"), "net"), "no dictionary \"net\"");
  EXPECT_CONTAINS(error_of(data("nested.pt"), "model"), "\"net.encoder\", \"net.decoder\"");
  EXPECT_CONTAINS(error_of(data("nested.pt"), "."), "no dictionary \".\"");
  const std::string weights = pickle::dict({{"w", pickle::tensor({})}});
  const auto key_of = [](const std::string& body, const WeightFileOptions& options = {}) {
    const test::TempDir folder;
    test::write_bytes(folder / "f", torch_bytes(body));
    return WeightFile::open(folder / "f", options).weights_key();
  };
  EXPECT_EQ(key_of(weights), "");
  EXPECT_EQ(key_of(pickle::dict({{"net", weights}})), "net");
  EXPECT_EQ(key_of(pickle::dict({{"state_dict", weights}, {"model", weights}})), "model");
  EXPECT_EQ(key_of(pickle::dict({{"model", weights}, {"model_ema", weights}})), "model_ema");
  EXPECT_EQ(key_of(pickle::dict({{"model_ema", weights}, {"ema", weights}})), "ema");
  EXPECT_EQ(key_of(pickle::dict({{"ema", weights}, {"state_dict_ema", weights}})),
            "state_dict_ema");
  EXPECT_EQ(key_of(pickle::dict({{"ema", "N"}, {"model", weights}})), "model");
  EXPECT_EQ(key_of(pickle::dict({{"ema", pickle::dict({{"model", weights}, {"step", "K\x01"}})},
                                 {"model", weights}})),
            "ema.model");
  EXPECT_EQ(key_of(pickle::dict({{"ema", weights}, {"model", weights}}), {"model"}), "model");
}

TEST(TorchArchive, DictSubclassesCountAsDictionaries) {
  // cls.__new__(cls), then items, then state: the shape of an EasyDict or CfgNode.
  const std::string body =
      pickle::dict({{"model", pickle::global("easydict", "EasyDict") + ")\x81(" +
                                  pickle::text("w") + pickle::tensor({}) + "u}b"}});
  const test::TempDir folder;
  test::write_bytes(folder / "f", torch_bytes(body));
  EXPECT_EQ(WeightFile::open(folder / "f").weights_key(), "model");
}

}  // namespace
}  // namespace ttt
