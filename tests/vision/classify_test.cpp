// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// The whole way from files to scores, through the library, against the official loader and models.
#include "core/cancel.h"
#include "core/weights/safetensors_writer.h"
#include "tests/support/compare.h"
#include "tests/support/paths.h"
#include "tests/vision/model_support.h"
#include "vision/accuracy.h"
#include "vision/classify_job.h"

#include <nlohmann/json.hpp>
#include <torch/torch.h>

#include <fstream>

namespace ttt::test {
namespace {

using nlohmann::json;
using vision::Classifier;
using vision::ClassifyRow;

// With identical pixels probabilities agree to 1e-6; the golden set says to compare at 1e-4.
constexpr double kProbability = 1e-4;
// Logits are stored with six decimals and reach about 10.
constexpr double kLogit = 3e-4;

json read_json(const std::filesystem::path& path) {
  std::ifstream in(path);
  return json::parse(in);
}

std::filesystem::path picture_path(const std::string& name) {
  const auto made = shared("golden/vision/images/" + name);
  return std::filesystem::exists(made) ? made : shared("data/imagenet-samples/" + name);
}

vision::ClassifyJobOptions official_job(int size) {
  vision::ClassifyJobOptions options;
  options.preprocess.width = options.preprocess.height = size;
  options.decode = DecodeMode::official;
  return options;
}

std::vector<ClassifyRow> run_job(const Classifier& classifier, const InputSet& inputs,
                                 const vision::ClassifyJobOptions& options) {
  std::vector<ClassifyRow> rows;
  vision::classify(classifier, inputs.items, options,
                   [&](ClassifyRow&& row) { rows.push_back(std::move(row)); });
  return rows;
}

struct EndToEndCase {
  std::string weights, state;
  int size;
};

void PrintTo(const EndToEndCase& c, std::ostream* out) {
  *out << c.weights << " " << c.state << " " << c.size;
}

class EndToEnd : public testing::TestWithParam<EndToEndCase> {};

TEST_P(EndToEnd, FilesGiveTheOfficialScores) {
  TTT_REQUIRE_SHARED("golden/vision/e2e_classify.json");
  const auto& [weights, state, size] = GetParam();
  const Classifier classifier = Classifier::load(
      {.weights = shared("golden/vision/" + weights).string(), .weights_key = state});
  InputOptions arguments;
  std::vector<json> expected;
  for (const json& entry : read_json(shared("golden/vision/e2e_classify.json"))) {
    if (entry["weights"] != weights || entry["state"] != state || entry["img_size"] != size)
      continue;
    arguments.arguments.push_back(picture_path(entry["image"]).string());
    expected.push_back(entry);
  }
  ASSERT_GE(expected.size(), 20U);
  const auto rows = run_job(classifier, expand_inputs(arguments), official_job(size));
  ASSERT_EQ(rows.size(), expected.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string name = expected[i]["image"];
    ASSERT_FALSE(rows[i].error) << name << ": " << rows[i].error->what();
    for (std::size_t k = 0; k < rows[i].logits.size(); ++k)
      EXPECT_NEAR(rows[i].logits[k], expected[i]["logits"][k].get<double>(), kLogit) << name;
    ASSERT_EQ(rows[i].top.size(), 5U);
    for (std::size_t k = 0; k < 5; ++k) {
      EXPECT_EQ(rows[i].top[k].index, expected[i]["top5"][k][0].get<std::int64_t>()) << name;
      EXPECT_NEAR(rows[i].top[k].probability, expected[i]["top5"][k][1].get<double>(), kProbability)
          << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, EndToEnd,
                         testing::Values(EndToEndCase{"vit3_tiny32.pth", "model", 224},
                                         EndToEndCase{"vit3_tiny32.pth", "model", 64},
                                         EndToEndCase{"hvit3_micro.pth", "state_dict_ema", 64},
                                         EndToEndCase{"hvit3_micro.pth", "model", 64}));

TEST(Cifar, AccuracyOverTheArchiveIsTheOfficialOne) {
  TTT_REQUIRE_SHARED("data/cifar10.tar");
  TTT_REQUIRE_SHARED("golden/vision/cifar/vit3_cifar.pth");
  const json golden = read_json(shared("golden/vision/cifar/vit3_cifar.json"));
  const TensorMap logits = read_all(shared("golden/vision/cifar/vit3_cifar_logits.safetensors"));
  std::map<std::string, std::int64_t> row_of;
  for (const json& file : golden["files"]) row_of.emplace(file, row_of.size());

  const Classifier classifier =
      Classifier::load({.weights = shared("golden/vision/cifar/vit3_cifar.pth").string()});
  const InputSet inputs = expand_inputs({.arguments = {shared("data/cifar10.tar").string()}});
  ASSERT_EQ(inputs.items.size(), 10000U);  // test alone, although train lies beside it
  const auto classes = vision::match_class_folders(inputs.class_names, classifier.default_labels(),
                                                   classifier.spec().classes());
  auto options = official_job(32);
  options.preprocess.crop_percent = 1;
  options.batch = 64;
  vision::Accuracy accuracy(classifier.spec().classes());
  std::size_t compared = 0;
  vision::classify(classifier, inputs.items, options, [&](ClassifyRow&& row) {
    ASSERT_FALSE(row.error) << row.error->what();
    const InputItem& item = inputs.items[row.item];
    std::vector<std::int64_t> best;
    for (const auto& score : row.top) best.push_back(score.index);
    accuracy.add(classes.at(item.class_name), best);
    const auto golden_row = row_of.find(item.name.substr(item.name.find("test/")));
    if (golden_row == row_of.end()) return;
    const at::Tensor expected = logits.at("logits")[golden_row->second];
    EXPECT_LE(relative_to_max(at::tensor(row.logits), expected), 1e-4) << item.name;
    ++compared;
  });
  EXPECT_EQ(compared, row_of.size());
  // The golden rates went through float32.
  EXPECT_NEAR(accuracy.top1(), golden["accuracy"]["top1"].get<double>(), 1e-7);
  EXPECT_NEAR(accuracy.top5(), golden["accuracy"]["top5"].get<double>(), 1e-7);
  for (std::int64_t truth = 0; truth < 10; ++truth)
    for (std::int64_t guess = 0; guess < 10; ++guess)
      EXPECT_EQ(accuracy.confusion(truth, guess), golden["confusion_rows_are_truth"][truth][guess]);
}

class Job : public testing::Test {
 protected:
  void SetUp() override {
    TTT_REQUIRE_SHARED("golden/vision/vit3_tiny32.safetensors");
    const std::string weights = shared("golden/vision/vit3_tiny32.safetensors").string();
    classifier_.emplace(Classifier::load({.weights = weights}));
  }
  void TearDown() override { reset_cancel(); }

  /// `count` pictures, with a broken file at every third place.
  InputSet mixed_inputs(int count) {
    InputOptions arguments;
    for (int i = 0; i < count; ++i) {
      if (i % 3 == 1) {
        const auto path = dir_ / ("broken" + std::to_string(i) + ".jpg");
        std::ofstream(path) << "no picture";
        arguments.arguments.push_back(path.string());
      } else {
        arguments.arguments.push_back(picture_path("gray_143x99.jpg").string());
      }
    }
    return expand_inputs(arguments);
  }

  TempDir dir_;
  std::optional<Classifier> classifier_;
};

TEST_F(Job, BrokenPicturesKeepTheirPlaceAndTheOthersTheirScores) {
  const InputSet inputs = mixed_inputs(20);
  auto options = official_job(64);
  options.batch = 3;
  options.workers = 3;
  const auto rows = run_job(*classifier_, inputs, options);
  ASSERT_EQ(rows.size(), 20U);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].item, i);
    EXPECT_EQ(rows[i].error.has_value(), i % 3 == 1) << i;
    if (i % 3 == 1) continue;
    EXPECT_EQ(rows[i].width, 143);
    EXPECT_EQ(rows[i].height, 99);
    EXPECT_LE(relative_to_max(at::tensor(rows[i].logits), at::tensor(rows[0].logits)), 1e-5);
  }
}

TEST_F(Job, CanStopAtTheFirstError) {
  auto options = official_job(64);
  options.stop_on_error = true;
  std::size_t rows = 0;
  const auto end = vision::classify(*classifier_, mixed_inputs(9).items, options,
                                    [&](ClassifyRow&&) { ++rows; });
  EXPECT_EQ(end, vision::JobEnd::stopped_on_error);
  EXPECT_EQ(rows, 2U);
}

TEST_F(Job, CancellingKeepsWhatIsDone) {
  auto options = official_job(64);
  options.batch = 2;
  std::size_t rows = 0;
  const auto end =
      vision::classify(*classifier_, mixed_inputs(60).items, options, [&](ClassifyRow&&) {
        if (++rows == 4) request_cancel();
      });
  EXPECT_EQ(end, vision::JobEnd::interrupted);
  EXPECT_GE(rows, 4U);
  EXPECT_LT(rows, 60U);
}

TEST_F(Job, ExceptionsOfTheReceiverPassThrough) {
  EXPECT_THROW(vision::classify(*classifier_, mixed_inputs(30).items, official_job(64),
                                [](ClassifyRow&&) { throw std::runtime_error("full"); }),
               std::runtime_error);
}

TEST_F(Job, ScoresThatAreNotFiniteAreErrors) {
  // A head of 1e38 overflows fp32 for features of ordinary size.
  const auto weights = shared("golden/vision/vit3_tiny32.safetensors");
  TensorMap tensors = read_all(weights);
  tensors["head.weight"] = at::full_like(tensors["head.weight"], 3e38);
  std::vector<NamedTensor> changed;
  for (const auto& [name, tensor] : tensors) changed.push_back({name, tensor});
  const auto path = dir_ / "huge.safetensors";
  write_safetensors(path, changed);
  const Classifier huge = Classifier::load({.weights = path.string()});
  const auto rows = run_job(huge, mixed_inputs(1), official_job(64));
  ASSERT_EQ(rows.size(), 1U);
  ASSERT_TRUE(rows[0].error);
  EXPECT_EQ(rows[0].error->kind(), ErrorKind::unsupported);
}

TEST_F(Job, OnePictureInMemoryGetsTheScoresOfAJob) {
  const std::string picture = picture_path("exif6_120x80.jpg").string();
  vision::ClassifyJobOptions options{.preprocess = classifier_->default_preprocess(), .top_k = 3};
  const auto rows = run_job(*classifier_, expand_inputs({.arguments = {picture}}), options);
  ASSERT_EQ(rows.size(), 1U);
  const auto best = vision::classify_image(*classifier_, read_image(picture), 3);
  ASSERT_EQ(best.size(), 3U);
  for (std::size_t i = 0; i < best.size(); ++i) {
    EXPECT_EQ(best[i].index, rows[0].top[i].index);
    EXPECT_EQ(best[i].probability, rows[0].top[i].probability);
  }
}

TEST_F(Job, OnePictureInMemoryCanFail) {
  const auto path = dir_ / "text.jpg";
  std::ofstream(path) << "no picture";
  const auto kind_of = [](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::internal;
  };
  EXPECT_EQ(kind_of([&] { read_image(path.string()); }), ErrorKind::input);
  EXPECT_EQ(kind_of([&] { read_image((dir_ / "missing.jpg").string()); }), ErrorKind::input);
  EXPECT_EQ(kind_of([&] { vision::classify_image(*classifier_, {}); }), ErrorKind::usage);
  const Image short_of_pixels{.width = 4, .height = 4, .rgb = {1, 2, 3}};
  EXPECT_EQ(kind_of([&] { vision::classify_image(*classifier_, short_of_pixels); }),
            ErrorKind::usage);
}

TEST(BestClasses, OrderTiesAndSums) {
  const std::vector<float> logits{1, 3, 3, -200, 2};
  const auto best = vision::best_classes(logits, 10);
  ASSERT_EQ(best.size(), 5U);
  EXPECT_EQ(best[0].index, 1);
  EXPECT_EQ(best[1].index, 2);
  EXPECT_EQ(best[2].index, 4);
  double sum = 0;
  for (const auto& score : best) sum += score.probability;
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_TRUE(vision::best_classes({}, 3).empty());
}

}  // namespace
}  // namespace ttt::test
