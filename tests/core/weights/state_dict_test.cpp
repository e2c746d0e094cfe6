// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/weights/state_dict.h"

#include "core/weights/safetensors_writer.h"
#include "tests/core/weights/weight_test_files.h"

#include <ATen/ATen.h>

#include <limits>

namespace ttt {
namespace {

using test::TempDir;

class StateDict : public ::testing::Test {
 protected:
  WeightFile file(const std::vector<NamedTensor>& tensors) {
    write_safetensors(folder / "w.safetensors", tensors);
    return WeightFile::open(folder / "w.safetensors");
  }
  std::string error(const WeightFile& weights, std::vector<ParameterSlot> slots,
                    const LoadOptions& options = {}, bool unchanged = true) {
    std::vector<at::Tensor> before;
    for (const ParameterSlot& slot : slots) before.push_back(slot.destination.clone());
    try {
      load_state_dict(weights, slots, options);
      ADD_FAILURE() << "no error";
    } catch (const Error& caught) {
      EXPECT_EQ(caught.kind(), ErrorKind::weights);
      for (std::size_t i = 0; unchanged && i < slots.size(); ++i)
        EXPECT_TRUE(at::equal(slots[i].destination, before[i])) << "changed although refused";
      return std::string(caught.what()) + "\n" + caught.hint();
    }
    return {};
  }
  TempDir folder;
};

TEST_F(StateDict, LoadsIntoStridedAndGradRequiringParameters) {
  const at::Tensor value = at::arange(6, at::kFloat).view({2, 3});
  const WeightFile weights = file({{"w", value}, {"n", at::scalar_tensor(5, at::kLong)}});
  std::vector<ParameterSlot> slots{
      {"w", at::zeros({3, 2}).t().set_requires_grad(true)},
      {"n", at::zeros({}, at::kLong)},
  };
  const LoadReport report = load_state_dict(weights, slots);
  EXPECT_EQ(report.loaded, 2U);
  EXPECT_TRUE(report.converted.empty());
  EXPECT_TRUE(at::equal(slots[0].destination, value));
  EXPECT_EQ(slots[1].destination.item<int>(), 5);
  EXPECT_EQ(summary(report), "loaded 2 tensors");
}

TEST_F(StateDict, FloatingTypesAreConverted) {
  const at::Tensor value = at::tensor({1.5F, -0.25F, 448.0F});
  std::vector<NamedTensor> tensors;
  std::vector<ParameterSlot> slots;
  for (const at::ScalarType type :
       {at::kDouble, at::kHalf, at::kBFloat16, at::kFloat8_e4m3fn, at::kFloat8_e5m2, at::kFloat}) {
    tensors.push_back({c10::toString(type), value.to(type)});
    slots.push_back({c10::toString(type), at::zeros({3})});
  }
  const LoadReport report = load_state_dict(file(tensors), slots);
  EXPECT_EQ(report.converted.size(), 5U);
  for (const ParameterSlot& slot : slots) {
    EXPECT_EQ(slot.destination.scalar_type(), at::kFloat);
    EXPECT_TRUE(at::equal(
        slot.destination,
        value.to(slot.name == "Float8_e5m2" ? at::kFloat8_e5m2 : at::kFloat).to(at::kFloat)))
        << slot.name;
  }
}

TEST_F(StateDict, OneReportGroupsEverything) {
  std::vector<NamedTensor> tensors{{"shape", at::zeros({2})}, {"type", at::zeros({2}, at::kLong)}};
  for (int i = 0; i < 12; ++i) tensors.push_back({"extra" + std::to_string(i), at::zeros({1})});
  const std::vector<ParameterSlot> slots{
      {"shape", at::ones({3})}, {"type", at::ones({2})}, {"absent.weight", at::ones({1})}};
  LoadOptions options;
  options.suggestion = [] { return "these are the weights of x"; };
  const std::string text = error(file(tensors), slots, options);
  EXPECT_CONTAINS(text, "1 missing: absent.weight");
  EXPECT_CONTAINS(text, "12 unexpected: extra0, ");
  EXPECT_CONTAINS(text, "extra9, … and 2 more");
  EXPECT_CONTAINS(text, "1 of another shape: shape ([2] in the file, [3] in the model)");
  EXPECT_CONTAINS(text, "1 of another type: type (int64 in the file, float32 in the model)");
  EXPECT_CONTAINS(text, "\nthese are the weights of x");
  EXPECT_CONTAINS(error(file(tensors), slots), "--model");
}

TEST_F(StateDict, FloatsDoNotBecomeIntegersNorIntegersOthers) {
  EXPECT_CONTAINS(error(file({{"n", at::zeros({1})}}), {{"n", at::zeros({1}, at::kLong)}}),
                  "float32 in the file, int64 in the model");
  EXPECT_CONTAINS(
      error(file({{"n", at::zeros({1}, at::kInt)}}), {{"n", at::zeros({1}, at::kLong)}}),
      "int32 in the file");
  EXPECT_CONTAINS(error(file({{"n", at::zeros({1})}}), {{"n", at::zeros({})}}), "shape");
}

TEST_F(StateDict, AllowListsAndIgnoredNames) {
  const WeightFile weights = file({{"w", at::ones({1})},
                                   {"layers.0.rope.rotations", at::ones({9})},
                                   {"aux.head.weight", at::ones({1})}});
  const std::vector<ParameterSlot> slots{{"w", at::zeros({1})},
                                         {"layers.0.rope.rotations", at::zeros({4})},
                                         {"layers.1.rope.rotations", at::zeros({4})},
                                         {"head.bias", at::zeros({1})}};
  LoadOptions options;
  options.ignored = {"*rope.rotations"};
  EXPECT_CONTAINS(error(weights, slots, options), "1 missing: head.bias\n  1 unexpected: aux.head");
  options.allow_missing = {"hea?.*"};
  options.allow_unexpected = {"aux.*"};
  const LoadReport report = load_state_dict(weights, slots, options);
  EXPECT_EQ(report.loaded, 1U);
  EXPECT_EQ(report.missing, std::vector<std::string>{"head.bias"});
  EXPECT_EQ(report.unexpected, std::vector<std::string>{"aux.head.weight"});
  EXPECT_EQ(report.ignored, std::vector<std::string>{"layers.0.rope.rotations"});
  EXPECT_EQ(slots[1].destination.sum().item<float>(), 0);
  EXPECT_CONTAINS(summary(report), "1 missing as allowed (head.bias)");
}

TEST_F(StateDict, NonFiniteValuesAreRefusedByName) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  for (const at::ScalarType type :
       {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kFloat8_e4m3fn, at::kFloat8_e5m2}) {
    const WeightFile weights =
        file({{"good", at::ones({2})}, {"bad", at::tensor({1.0F, nan, 2.0F}).to(type)}});
    const std::vector<ParameterSlot> slots{{"good", at::zeros({2})}, {"bad", at::zeros({3})}};
    EXPECT_CONTAINS(error(weights, slots, {}, false), "NaN or infinite: bad (1 of 3)");
    LoadOptions options;
    options.allow_non_finite = true;
    EXPECT_EQ(load_state_dict(weights, slots, options).loaded, 2U);
  }
  EXPECT_CONTAINS(error(file({{"a", at::tensor({inf, -inf})}}), {{"a", at::zeros({2})}}, {}, false),
                  "2 of 2");
  // Finite in the file, beyond the range of the model's type.
  EXPECT_CONTAINS(
      error(file({{"a", at::tensor({1e6F})}}), {{"a", at::zeros({1}, at::kHalf)}}, {}, false),
      "1 of 1");
  EXPECT_EQ(count_non_finite(at::tensor({std::numeric_limits<float>::max(), -0.0F, 1e-40F})), 0);
}

TEST_F(StateDict, GoldenEmaFileFillsAMatchingModel) {
  TTT_REQUIRE_SHARED("golden/vision/hvit3_micro.pth");
  const WeightFile weights = WeightFile::open(test::shared("golden/vision/hvit3_micro.pth"));
  EXPECT_EQ(weights.weights_key(), "state_dict_ema");
  EXPECT_EQ(weights.available_keys(), (std::vector<std::string>{"model", "state_dict_ema"}));
  std::vector<ParameterSlot> slots;
  for (const TensorInfo& info : weights.tensors())
    slots.push_back({info.name, at::zeros_like(weights.read(info.name))});
  EXPECT_EQ(load_state_dict(weights, slots).loaded, slots.size());
  slots.pop_back();
  EXPECT_CONTAINS(error(weights, slots), "--weights-key");
}

}  // namespace
}  // namespace ttt
