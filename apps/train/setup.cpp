// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/train/setup.h"

#include "core/device.h"
#include "core/error.h"
#include "core/log.h"
#include "core/seed.h"
#include "layers/module_weights.h"
#include "training/ema.h"
#include "vision/weights_metadata.h"

#include <ATen/Parallel.h>

#include <algorithm>

namespace ttt::cli {
namespace {

using vision::LabelledImages;

/// "64,128" as numbers; exactly `count` of them.
std::vector<std::int64_t> parse_list(const std::string& text, std::size_t count,
                                     const std::string& where) {
  std::vector<std::int64_t> values;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    values.push_back(parse_integer(text.substr(begin, end - begin), {1, 65536}, where));
    begin = end + 1;
  }
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

void open_data(TrainSetup& setup, const TrainOptions& options) {
  vision::LabelledImagesOptions settings{
      .decode = options.decode == "official" ? DecodeMode::official : DecodeMode::photo,
      .cache_bytes = static_cast<std::uint64_t>(options.cache) << 20};
  InputSet training = training_inputs(options);
  const InputSet splits{.split = training.split};
  setup.data = std::make_shared<LabelledImages>(std::move(training), settings);
  settings.classes = setup.data->classes();
  setup.validation = open_validation(options, splits, settings);
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

training::TrainerOptions trainer_options_of(const TrainOptions& options, std::uint64_t seed,
                                            std::shared_ptr<training::ProcessGroup> processes) {
  const std::int64_t global_batch =
      options.batch * options.accumulate * (processes ? processes->size() : 1);
  training::TrainerOptions result{.folder = options.output,
                                  .seed = seed,
                                  .epochs = options.epochs,
                                  .accumulate = options.accumulate,
                                  .schedule = {.base = options.learning_rate.value(),
                                               .warmup_start = options.warmup_learning_rate.value(),
                                               .minimum = options.min_learning_rate.value()},
                                  .warmup_epochs = options.warmup_epochs.value()};
  if (options.scale_learning_rate)
    result.schedule = training::scaled_to_batch(result.schedule, global_batch);
  result.optimizer.kind =
      options.optimizer == "muon" ? training::OptimizerKind::muon : training::OptimizerKind::adamw;
  result.optimizer.weight_decay = options.weight_decay.value();
  result.clip_norm = options.clip_norm.value();
  if (options.ema_decay)
    result.ema_decay = options.scale_ema_decay
                           ? training::decay_for_batch(*options.ema_decay, global_batch)
                           : *options.ema_decay;
  result.checkpoint_steps = options.checkpoint_steps;
  result.checkpoint_epochs = options.checkpoint_epochs;
  result.keep_checkpoints = options.keep_checkpoints;
  result.evaluate_epochs = options.evaluate_epochs;
  result.log_steps = options.log_steps;
  result.norms_steps = options.norms_steps;
  result.max_steps = options.max_steps;
  result.resume = options.resume;
  result.processes = std::move(processes);
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

/// Each process of a machine takes a GPU of its own, unless one was named.
DeviceChoice device_of(const TrainOptions& options, const training::ProcessGroup* processes) {
  const DeviceChoice choice = choose_device(options.device);
  const bool named = options.device != "auto" && options.device != "cuda";
  if (processes == nullptr || named || !choice.device.is_cuda()) return choice;
  return choose_device("cuda:" + std::to_string(training::ProcessGroup::local_rank()));
}

}  // namespace

TrainSetup set_up_training(const TrainOptions& options) {
  if (options.threads) at::set_num_threads(static_cast<int>(*options.threads));
  const auto processes = training::ProcessGroup::from_environment();
  const DeviceChoice device = device_of(options, processes.get());
  TTT_CHECK(!processes || options.seed >= 0, usage, "several processes need one seed", "--seed",
            "choose a seed that isn't negative");
  const std::uint64_t seed = choose_seed(options.seed);
  TrainSetup setup{.spec = parse_model(options)};
  open_data(setup, options);
  setup.spec.set_classes(static_cast<std::int64_t>(setup.data->classes().size()));
  setup.trainer = trainer_options_of(options, seed, processes);
  setup.task_options = task_options_of(options, seed);
  setup.task_options.device = device.device;
  setup.task_options.processes = setup.trainer.processes;
  // The published blocks go without saying, so that runs of earlier versions can be resumed.
  if (!setup.spec.inner().is_published())
    setup.task_options.fixed_settings = {{"inner model", describe(setup.spec.inner())}};
  const auto model = setup.spec.build();
  const PreprocessOptions& size = setup.task_options.augment.preprocess;
  vision::check_image_size(size.width, size.height, model->size_multiple());
  model->initialize(seed);
  if (!options.weights.empty()) load_initial_weights(*model, setup.spec, options);
  for (const at::Tensor& parameter : model->parameters()) setup.parameters += parameter.numel();
  const bool averaged = setup.trainer.ema_decay && !options.overfit_one_batch;
  setup.task = std::make_unique<vision::ClassificationTask>(
      model, averaged ? setup.spec.build() : nullptr, setup.data, setup.validation,
      setup.task_options);
  training::Metadata metadata = setup.spec.metadata();
  metadata["ttt.model"] = setup.spec.name();
  vision::write_preprocess_metadata(metadata, size);
  vision::write_label_metadata(metadata, setup.data->classes());
  setup.task->set_metadata(std::move(metadata));
  return setup;
}

void announce(const TrainSetup& setup, const TrainOptions& options) {
  const PreprocessOptions& size = setup.task_options.augment.preprocess;
  log_info("{}, {:.2f} M parameters, {}x{}, {}", setup.spec.name(),
           static_cast<double>(setup.parameters) / 1e6, size.width, size.height, options.dtype);
  log_info("{} training pictures of {} classes, {} to measure on", setup.data->size(),
           setup.data->classes().size(), setup.validation ? setup.validation->size() : 0);
  log_info("{} epochs of {} steps of {} pictures, learning rate {:.3g}, seed {}", options.epochs,
           setup.task->batches_per_epoch() / options.accumulate, options.batch * options.accumulate,
           setup.trainer.schedule.base, setup.trainer.seed);
  if (setup.trainer.processes)
    log_info("process {} of {}", setup.trainer.processes->rank(), setup.trainer.processes->size());
}

}  // namespace ttt::cli
