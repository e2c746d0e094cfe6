// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/train/classification.h"

#include "core/error.h"
#include "core/log.h"
#include "layers/module_weights.h"
#include "vision/classifier.h"
#include "vision/model_catalog.h"
#include "vision/training/classification_task.h"
#include "vision/weights_metadata.h"

#include <algorithm>

namespace ttt::cli {
namespace {

using vision::LabelledImages;

struct Data {
  std::shared_ptr<const LabelledImages> training, validation;
};

/// "64,128" as numbers; exactly `count` of them.
std::vector<std::int64_t> parse_list(const std::string& text, std::size_t count,
                                     const std::string& where) {
  std::vector<std::int64_t> values;
  for (const std::string& part : comma_parts(text))
    values.push_back(parse_integer(part, {1, 65536}, where));
  TTT_CHECK(
      values.size() == count, usage,
      fmt::format("{} numbers, and this model takes {}", values.size(), count), where,
      count == 1 ? "give one number" : "give one number for each stage, as in 64,128,320,512");
  return values;
}

vision::ModelSpec parse_dimensions(const TrainOptions& options) {
  if (options.model == "vit3")
    return {vision::Vit3Config{.dim = parse_list(options.dims, 1, "--dims")[0],
                               .depth = parse_list(options.depths, 1, "--depths")[0],
                               .heads = parse_list(options.heads, 1, "--heads")[0],
                               .patch = options.patch}};
  if (options.model != "hvit3") return vision::find_preset(options.model).spec;
  vision::HVit3Config config;
  const auto fill = [](std::array<std::int64_t, vision::kStages>& target, const std::string& text,
                       const std::string& where) {
    const std::vector<std::int64_t> values = parse_list(text, vision::kStages, where);
    std::copy(values.begin(), values.end(), target.begin());
  };
  fill(config.dims, options.dims, "--dims");
  fill(config.depths, options.depths, "--depths");
  fill(config.heads, options.heads, "--heads");
  return {config};
}

vision::ModelSpec parse_model(const TrainOptions& options) {
  vision::ModelSpec spec = parse_dimensions(options);
  spec.set_inner(vision::parse_inner(options.inner));
  return spec;
}

/// The pictures to train on: the split "train" where there is one.
InputSet training_inputs(const TrainOptions& options) {
  TTT_CHECK(!options.data.empty(), usage, "no training pictures are named", "--data",
            "name a folder of class folders or a tar archive, in the configuration or by --data");
  if (options.split != "auto")
    return expand_inputs({.arguments = options.data, .split = options.split});
  try {
    return expand_inputs({.arguments = options.data, .split = "train"});
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    InputSet set = expand_inputs({.arguments = options.data, .split = "all"});
    log_info("the data have no split \"train\": training on all of them");
    return set;
  }
}

std::shared_ptr<const LabelledImages> open_validation(
    const TrainOptions& options, const InputSet& training,
    const vision::LabelledImagesOptions& settings) {
  if (options.validation_split == "none") return nullptr;
  if (options.validation.empty() && training.split.empty()) return nullptr;
  const auto& source = options.validation.empty() ? options.data : options.validation;
  InputSet set = expand_inputs({.arguments = source, .split = options.validation_split});
  TTT_CHECK(!options.validation.empty() || set.split != training.split, usage,
            fmt::format("the data have no other split than \"{}\" to measure on", set.split),
            "--validation", "name other pictures, or set --validation-split none");
  return std::make_shared<LabelledImages>(std::move(set), settings);
}

Data open_data(const TrainOptions& options) {
  vision::LabelledImagesOptions settings{
      .decode = options.decode == "official" ? DecodeMode::official : DecodeMode::photo,
      .cache_bytes = static_cast<std::uint64_t>(options.cache) << 20};
  InputSet training = training_inputs(options);
  const InputSet splits{.split = training.split};
  Data data{std::make_shared<LabelledImages>(std::move(training), settings), nullptr};
  settings.classes = data.training->classes();
  data.validation = open_validation(options, splits, settings);
  return data;
}

PreprocessOptions preprocess_of(const TrainOptions& options) {
  PreprocessOptions result;
  if (options.size) {
    result.width = options.size->width;
    result.height = options.size->height;
  }
  result.crop_percent = options.crop_pct.value();
  for (std::size_t i = 0; i < 3; ++i) {
    if (options.mean) result.mean[i] = static_cast<float>((*options.mean)[i]);
    if (options.std) result.std[i] = static_cast<float>((*options.std)[i]);
  }
  return result;
}

vision::AugmentOptions augment_of(const TrainOptions& options) {
  vision::AugmentOptions result{.preprocess = preprocess_of(options)};
  if (options.overfit_one_batch) {
    result.crop = vision::CropRule::none;
    result.flip = result.erase = 0;
    result.rand_augment_ops = 0;
    return result;
  }
  if (options.crop == "pad") result.crop = vision::CropRule::pad_and_crop;
  if (options.crop == "none") result.crop = vision::CropRule::none;
  result.min_scale = options.min_scale.value();
  result.padding = static_cast<int>(options.padding);
  result.flip = options.flip.value();
  result.rand_augment_ops = static_cast<int>(options.rand_augment);
  result.rand_augment_magnitude = options.rand_augment_magnitude.value();
  result.rand_augment_std = options.rand_augment_std.value();
  result.erase = options.erase.value();
  return result;
}

vision::ClassificationTaskOptions task_options_of(const TrainOptions& options, std::uint64_t seed) {
  vision::ClassificationTaskOptions result{.seed = seed,
                                           .epochs = options.epochs,
                                           .batch = options.batch,
                                           .workers = static_cast<int>(options.workers),
                                           .augment = augment_of(options)};
  result.mix = {.mixup_alpha = options.mixup.value(),
                .cutmix_alpha = options.cutmix.value(),
                .probability = options.mix_probability.value(),
                .smoothing = options.label_smoothing.value()};
  result.drop_path = options.drop_path.value();
  result.mesa = options.mesa.value();
  result.mesa_start = options.mesa_start.value();
  if (options.overfit_one_batch) {
    result.mix = {.mixup_alpha = 0, .cutmix_alpha = 0, .smoothing = 0};
    result.drop_path = result.mesa = 0;
    result.workers = 0;
  }
  result.compute = options.dtype == "bf16" ? at::kBFloat16 : at::kFloat;
  result.recompute = options.recompute;
  result.backend = ops::parse_backend(options.backend);
  return result;
}

/// Loads --weights into the model, all but a classifier of another number of classes.
void load_initial_weights(vision::ClassificationModel& model, const vision::ModelSpec& spec,
                          const TrainOptions& options) {
  const WeightFile file = WeightFile::open(options.weights, {.weights_key = options.weights_key});
  const auto stored = vision::recognize_model({file.tensors(), file.metadata(), options.weights});
  if (stored && stored->inner() != spec.inner())
    log_warning("the checkpoint was trained with the inner model {}, this run trains {}",
                describe(stored->inner()), describe(spec.inner()));
  std::vector<ParameterSlot> slots = layers::parameter_slots(model);
  LoadOptions load{.ignored = vision::ignored_tensors()};
  const TensorInfo* head = file.find("head.weight");
  const auto own = std::find_if(slots.begin(), slots.end(), [](const ParameterSlot& slot) {
    return slot.name == "head.weight";
  });
  if (head != nullptr && own != slots.end() && !head->shape.empty() &&
      head->shape[0] != own->destination.size(0)) {
    log_info("the checkpoint has {} classes, the data {}: the classifier starts anew",
             head->shape[0], own->destination.size(0));
    std::erase_if(slots, [](const ParameterSlot& slot) { return slot.name.starts_with("head."); });
    load.ignored.push_back("head.*");
  }
  log_info("{}: {}", printable(options.weights), summary(load_state_dict(file, slots, load)));
}

}  // namespace

void set_up_classification(TrainSetup& setup, const TrainOptions& options) {
  vision::ModelSpec spec = parse_model(options);
  const Data data = open_data(options);
  spec.set_classes(static_cast<std::int64_t>(data.training->classes().size()));
  vision::ClassificationTaskOptions task_options = task_options_of(options, setup.trainer.seed);
  task_options.device = setup.device.device;
  task_options.processes = setup.trainer.processes;
  // The published blocks go without saying, so that runs of earlier versions can be resumed.
  if (!spec.inner().is_published())
    task_options.fixed_settings = {{"inner model", describe(spec.inner())}};
  const auto model = spec.build();
  const PreprocessOptions& size = task_options.augment.preprocess;
  vision::check_image_size(size.width, size.height, model->size_multiple());
  if (setup.device.device.is_cpu() && !options.recompute)
    setup.step_memory = vision::estimate_training_memory(
        spec, options.batch, size.width, size.height, task_options.compute, task_options.backend);
  model->initialize(setup.trainer.seed);
  if (!options.weights.empty()) load_initial_weights(*model, spec, options);
  auto task = std::make_unique<vision::ClassificationTask>(
      model, setup.averaged ? spec.build() : nullptr, data.training, data.validation, task_options);
  training::Metadata metadata = spec.metadata();
  metadata["ttt.model"] = spec.name();
  vision::write_preprocess_metadata(metadata, size);
  vision::write_label_metadata(metadata, data.training->classes());
  task->set_metadata(std::move(metadata));

  setup.model = spec.name();
  setup.size = {size.width, size.height};
  setup.unit = "pictures";
  setup.data =
      fmt::format("{} training pictures of {} classes, {} to measure on", data.training->size(),
                  data.training->classes().size(), data.validation ? data.validation->size() : 0);
  setup.unreadable = [pointer = task.get()] { return pointer->unreadable(); };
  setup.write_preview = [data, augment = task_options.augment,
                         seed = setup.trainer.seed](const std::string& path) {
    vision::write_preview(*data.training, augment, seed, path);
  };
  setup.task = std::move(task);
}

}  // namespace ttt::cli
