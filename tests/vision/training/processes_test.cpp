// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/processes.h"

#include "core/error.h"
#include "core/weights/safetensors_writer.h"
#include "core/weights/weight_file.h"
#include "tests/support/compare.h"
#include "tests/support/paths.h"
#include "tests/support/pictures.h"
#include "tests/support/processes.h"
#include "training/gradients.h"
#include "vision/hvit3.h"
#include "vision/training/classification_task.h"
#include "vision/vit3.h"

#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>
#include <torch/torch.h>

#include <cstdlib>
#include <dlfcn.h>
#include <string>

namespace ttt::test {
namespace {

using training::NamedTensors;
namespace fs = std::filesystem;

constexpr std::int64_t kJointBatch = 6;

std::shared_ptr<vision::ClassificationModel> model_named(const std::string& name) {
  auto model =
      name == "vit3"
          ? vision::make_vit3({.dim = 16, .depth = 2, .heads = 2, .patch = 8, .classes = 3})
          : vision::make_hvit3({.dims = {8, 8, 12, 16},
                                .depths = {1, 1, 1, 1},
                                .heads = {1, 2, 3, 2},
                                .classes = 3});
  model->initialize(1);
  return model;
}

/// Options of a run in which a sample's part in the gradient doesn't depend on who computes it.
vision::ClassificationTaskOptions options_for(std::int64_t batch) {
  vision::ClassificationTaskOptions options{.batch = batch};
  options.augment.preprocess.width = options.augment.preprocess.height = 32;
  options.mix = {.mixup_alpha = 0, .cutmix_alpha = 0};
  return options;
}

/// Averaged gradients and buffers after one batch.
NamedTensors one_batch(const std::string& name, const fs::path& data,
                       const vision::ClassificationTaskOptions& options) {
  const auto images = std::make_shared<vision::LabelledImages>(
      expand_inputs({.arguments = {data.string()}}), vision::LabelledImagesOptions{});
  vision::ClassificationTask task(model_named(name), nullptr, images, nullptr, options);
  task.model().train();
  task.start_epoch(0, 1);
  task.forward_backward({.batch = 1});
  NamedTensors result;
  for (const NamedTensor& p : training::trainable_parameters(task.model())) {
    const at::Tensor gradient = p.tensor.grad().clone();
    if (options.processes) {
      options.processes->sum(gradient);
      gradient.div_(options.processes->size());
    }
    result.push_back({p.name, gradient});
  }
  for (const NamedTensor& buffer : training::buffers(task.model())) result.push_back(buffer);
  return result;
}

TEST(Worker, DISABLED_Run) {
  const char* name = std::getenv("TTT_TEST_MODEL");
  if (name == nullptr) GTEST_SKIP() << "runs as a part of Processes";
  const fs::path folder = std::getenv("TTT_TEST_FOLDER");
  vision::ClassificationTaskOptions options = options_for(kJointBatch / 2);
  options.processes = training::ProcessGroup::from_environment();
  ASSERT_TRUE(options.processes);
  const NamedTensors result = one_batch(name, folder / "data", options);
  write_safetensors(folder / fmt::format("rank{}.safetensors", options.processes->rank()), result);
}

TEST(Processes, TwoGiveTheGradientsOfTheJointBatch) {
  for (const std::string name : {"vit3", "hvit3"}) {
    const TempDir folder;
    write_class_folders(folder / "data", 3, 6, 20);
    const int port = free_port();
    const std::map<std::string, std::string> environment{
        {"TTT_TEST_MODEL", name}, {"TTT_TEST_FOLDER", folder.path().string()}};
    const std::vector<pid_t> children{start_worker(0, 2, port, environment),
                                      start_worker(1, 2, port, environment)};
    const NamedTensors expected = one_batch(name, folder / "data", options_for(kJointBatch));
    ASSERT_EQ(wait_for(children), std::vector<int>({0, 0}));
    // Gradients are sums that cancel, so their rounding follows the size of the terms: small ones
    // are compared relative to a tenth of the largest of the model. Batch norms over so few
    // pictures amplify it, by how much depends on the number of threads: 2.8e-5 was seen.
    double floor = 0;
    for (const NamedTensor& item : expected)
      if (item.tensor.is_floating_point())
        floor = std::max(floor, 0.1 * item.tensor.abs().max().item<double>());
    for (const char* rank : {"rank0.safetensors", "rank1.safetensors"}) {
      const WeightFile file = WeightFile::open(folder / rank);
      for (const NamedTensor& item : expected) {
        const at::Tensor actual = file.read(item.name);
        if (!item.tensor.is_floating_point()) {
          EXPECT_TRUE(at::equal(actual, item.tensor)) << item.name;
        } else {
          const double scale = std::max(floor, item.tensor.abs().max().item<double>());
          const double difference = (actual - item.tensor).abs().max().item<double>();
          EXPECT_LT(difference, scale * (name == "vit3" ? 1e-6 : 5e-5)) << name << " " << item.name;
        }
      }
    }
  }
}

TEST(Processes, TheNcclModuleOpens) {
  void* module = ::dlopen("libttt_nccl.so", RTLD_NOW | RTLD_LOCAL);
  const std::string problem = module == nullptr ? ::dlerror() : "";
  if (problem.starts_with("libttt_nccl.so")) GTEST_SKIP() << "not built: " << problem;
  ASSERT_NE(module, nullptr) << problem;
  EXPECT_NE(::dlsym(module, "ttt_create_nccl_backend"), nullptr);
}

TEST(Processes, LocalRankIsANumber) {
  ::setenv("LOCAL_RANK", "3", 1);
  EXPECT_EQ(training::ProcessGroup::local_rank(), 3);
  ::setenv("LOCAL_RANK", "x", 1);
  EXPECT_THROW(training::ProcessGroup::local_rank(), Error);
  ::unsetenv("LOCAL_RANK");
  EXPECT_EQ(training::ProcessGroup::local_rank(), 0);
}

TEST(Processes, OneIsNone) {
  ::unsetenv("WORLD_SIZE");
  EXPECT_FALSE(training::ProcessGroup::from_environment());
  ::setenv("WORLD_SIZE", "1", 1);
  EXPECT_FALSE(training::ProcessGroup::from_environment());
  ::unsetenv("WORLD_SIZE");
}

}  // namespace
}  // namespace ttt::test
