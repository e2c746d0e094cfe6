// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/train/options.h"

#include "apps/common/shared_options.h"

namespace ttt::cli {
namespace {

constexpr Range kPositive{1, 1e9};
constexpr Range kCount{0, 1e9};
constexpr Range kUnit{0, 1};

void add_data(OptionTable& table, TrainOptions& options) {
  table.group("Data");
  table.add_list({.name = "data",
                  .value = "INPUT",
                  .help = "training pictures: a folder of class folders, a tar archive of them, or "
                          "a table of paths and labels (.csv); for lvsm: scenes, or procedural",
                  .common = true},
                 options.data);
  table.add_text({.name = "split",
                  .value = "NAME",
                  .help = "which split of a data set <split>/<class>/file to train on",
                  .standard = "train, where there are splits"},
                 options.split);
  table.add_list({.name = "validation",
                  .value = "INPUT",
                  .help = "pictures to measure the accuracy on; for lvsm: scenes, or procedural",
                  .standard = "another split of --data, where there is one; procedural"},
                 options.validation);
  table.add_text({.name = "validation-split",
                  .value = "NAME",
                  .help = "split to measure on: auto (test, else val), a name, or none",
                  .standard = "auto"},
                 options.validation_split);
  table.add_choice({.name = "decode",
                    .value = "MODE",
                    .help = "photo: upright, alpha over white, damaged files are errors; official: "
                            "as the official data loader"},
                   options.decode, {"photo", "official"});
  table.add_integer(
      {.name = "cache", .value = "N", .help = "memory for decoded pictures", .unit = "MiB"},
      options.cache, kCount);
}

void add_model(OptionTable& table, TrainOptions& options) {
  table.group("Model");
  table.add_text(
      {.name = "model",
       .letter = 'm',
       .value = "NAME",
       .help = "vit3 or hvit3 with the dimensions below, a preset such as vit3_t, or lvsm "
               "(novel views)",
       .common = true},
      options.model);
  table.add_text({.name = "dims",
                  .value = "N[,N…]",
                  .help = "width: one number for vit3, four (one a stage) for hvit3"},
                 options.dims);
  table.add_text({.name = "depths", .value = "N[,N…]", .help = "blocks: one number, or four"},
                 options.depths);
  table.add_text({.name = "heads", .value = "N[,N…]", .help = "heads: one number, or four"},
                 options.heads);
  table.add_integer({.name = "patch", .value = "N", .help = "patch size of vit3", .unit = "pixels"},
                    options.patch, {1, 1024});
  table.add_text({.name = "weights",
                  .letter = 'w',
                  .value = "FILE",
                  .help = "start from this checkpoint (.safetensors, .pth); a classifier with "
                          "another number of classes is started anew",
                  .standard = "random weights"},
                 options.weights);
  table.add_text({.name = "weights-key",
                  .value = "KEY",
                  .help = "dictionary inside the checkpoint, such as model or state_dict_ema"},
                 options.weights_key);
}

void add_inner(OptionTable& table, TrainOptions& options) {
  table.group("Inner training");
  vision::InnerSettings& inner = options.inner;
  table.add_choice({.name = "inner-model",
                    .value = "MODEL",
                    .help = "what every TTT block trains on its picture; vit3: gated_linear, and "
                            "depthwise on one more head"},
                   inner.model, vision::inner_model_names());
  table.add_integer({.name = "inner-width",
                     .value = "N",
                     .help = "hidden width of mlp2, mlp3 and swiglu, in widths of a head"},
                    inner.width, {1, vision::kLargestInnerWidth});
  table.add_choice({.name = "inner-loss", .value = "LOSS", .help = "loss of the inner training"},
                   inner.loss, vision::inner_loss_names());
  table.add_text({.name = "inner-batch",
                  .value = "full|N/k",
                  .help = "tokens per inner step: all N, or the parts of N/2, N/3, … in turn"},
                 inner.batch);
  table.add_integer({.name = "inner-epochs", .value = "N", .help = "passes over the tokens"},
                    inner.epochs, {1, vision::kLargestInnerEpochs});
  table.add_number({.name = "inner-lr", .value = "X", .help = "learning rate of the inner steps"},
                   inner.lr, {0, vision::kLargestInnerRate});
  table.add_choice({.name = "inner-lr-rule",
                    .value = "RULE",
                    .help = "fixed, or dynamic: each token counts by a learned weight of 0 to 1"},
                   inner.lr_rule, vision::inner_rate_rule_names());
  table.add_choice({.name = "inner-clip",
                    .value = "RULE",
                    .help = "column: gradients of output columns are divided by their norm + 1"},
                   inner.clip, vision::inner_clip_names());
}

void add_picture(OptionTable& table, TrainOptions& options) {
  table.group("Picture");
  table.add_size({.name = "size",
                  .value = "WxH",
                  .help = "what the model sees",
                  .unit = "pixels",
                  .standard = "224x224; 256x256 for lvsm",
                  .common = true},
                 options.size);
  table.add_number({.name = "crop-pct",
                    .value = "X",
                    .help = "part of the scaled picture that the cut keeps in evaluation"},
                   options.crop_pct, {0.05, 1});
  table.add_numbers({.name = "mean",
                     .value = "R,G,B",
                     .help = "mean of the channels, for values from 0 to 1",
                     .standard = "ImageNet's"},
                    options.mean, {-10, 10});
  table.add_numbers({.name = "std",
                     .value = "R,G,B",
                     .help = "standard deviation of the channels",
                     .standard = "ImageNet's"},
                    options.std, {1e-6, 1000});
}

void add_augmentation(OptionTable& table, TrainOptions& options) {
  table.group("Augmentation");
  table.add_choice({.name = "crop",
                    .value = "RULE",
                    .help = "random-resized: a random part, scaled; pad: the whole, padded, and a "
                            "random window; none: as in evaluation"},
                   options.crop, {"random-resized", "pad", "none"});
  table.add_number({.name = "min-scale",
                    .value = "X",
                    .help = "smallest part of the area that random-resized takes"},
                   options.min_scale, {0.001, 1});
  table.add_integer({.name = "padding",
                     .value = "N",
                     .help = "border that `--crop pad` adds on each side",
                     .unit = "pixels"},
                    options.padding, {0, 1024});
  table.add_number({.name = "flip", .value = "P", .help = "probability of a mirror image"},
                   options.flip, kUnit);
  table.add_integer(
      {.name = "rand-augment", .value = "N", .help = "RandAugment operations a picture; 0: none"},
      options.rand_augment, {0, 15});
  table.add_number(
      {.name = "rand-augment-magnitude", .value = "X", .help = "their strength, from 0 to 10"},
      options.rand_augment_magnitude, {0, 10});
  table.add_number(
      {.name = "rand-augment-std", .value = "X", .help = "standard deviation of the strength"},
      options.rand_augment_std, {0, 10});
  table.add_number(
      {.name = "erase", .value = "P", .help = "probability that a box is filled with noise"},
      options.erase, kUnit);
  table.add_number({.name = "mixup", .value = "ALPHA", .help = "strength of mixup; 0: none"},
                   options.mixup, {0, 100});
  table.add_number({.name = "cutmix", .value = "ALPHA", .help = "strength of cutmix; 0: none"},
                   options.cutmix, {0, 100});
  table.add_number(
      {.name = "mix-probability", .value = "P", .help = "probability that a batch is mixed"},
      options.mix_probability, kUnit);
  table.add_number({.name = "label-smoothing",
                    .value = "X",
                    .help = "part of the target that is spread over all classes"},
                   options.label_smoothing, {0, 0.999});
  table.add_number({.name = "drop-path",
                    .value = "P",
                    .help = "stochastic depth of the last block, growing linearly from 0"},
                   options.drop_path, {0, 0.99});
}

void add_optimisation(OptionTable& table, TrainOptions& options) {
  table.group("Optimisation");
  table.add_integer(
      {.name = "epochs", .value = "N", .help = "passes over the data", .common = true},
      options.epochs, kPositive);
  table.add_integer({.name = "batch",
                     .letter = 'b',
                     .value = "N",
                     .help = "pictures (lvsm: scenes) per forward pass",
                     .common = true},
                    options.batch, {1, 65536});
  table.add_integer({.name = "accumulate", .value = "N", .help = "batches per optimizer step"},
                    options.accumulate, {1, 65536});
  table.add_choice({.name = "optimizer",
                    .value = "NAME",
                    .help = "adamw, or muon for the matrices and adamw for the rest"},
                   options.optimizer, {"adamw", "muon"});
  table.add_number(
      {.name = "learning-rate", .value = "X", .help = "after the warm-up", .common = true},
      options.learning_rate, {0, 10});
  table.add_number({.name = "warmup-learning-rate", .value = "X", .help = "at the first step"},
                   options.warmup_learning_rate, {0, 10});
  table.add_number({.name = "min-learning-rate", .value = "X", .help = "at the last step"},
                   options.min_learning_rate, {0, 10});
  table.add_switch({.name = "scale-learning-rate",
                    .help = "multiply the three rates by (pictures per step) / 512"},
                   options.scale_learning_rate);
  table.add_number({.name = "warmup-epochs", .value = "X", .help = "length of the warm-up"},
                   options.warmup_epochs, {0, 1e6});
  table.add_number(
      {.name = "weight-decay", .value = "X", .help = "for tensors of two or more axes"},
      options.weight_decay, {0, 10});
  table.add_number({.name = "ema-decay",
                    .value = "X",
                    .help = "keep a moving average of the weights with this decay",
                    .standard = "no average"},
                   options.ema_decay, {0, 0.9999999});
  table.add_switch({.name = "scale-ema-decay",
                    .help = "take the decay per 4096 pictures, as the official code, not per step"},
                   options.scale_ema_decay);
  table.add_number({.name = "mesa",
                    .value = "X",
                    .help = "weight of the average's predictions as a second target; 0: none"},
                   options.mesa, {0, 100});
  table.add_number(
      {.name = "mesa-start", .value = "X", .help = "part of the epochs before that target counts"},
      options.mesa_start, kUnit);
}

/// Continues the group of the optimisation.
void add_limits(OptionTable& table, TrainOptions& options) {
  table.add_choice(
      {.name = "cosine",
       .value = "RULE",
       .help = "whole: from step 0, the warm-up cuts its start off; after-warmup: from "
               "the end of the warm-up"},
      options.cosine, {"whole", "after-warmup"});
  table.add_number({.name = "beta2", .value = "X", .help = "of AdamW"}, options.beta2,
                   {0, 0.999999});
  table.add_number({.name = "clip-norm", .value = "X", .help = "largest gradient norm; 0: any"},
                   options.clip_norm, {0, 1e9});
  table.add_number({.name = "skip-norm",
                    .value = "X",
                    .help = "leave out steps with a larger gradient norm; 0: none"},
                   options.skip_norm, {0, 1e9});
  table.add_integer(
      {.name = "guard-after", .value = "N", .help = "steps before these two limits count"},
      options.guard_after, kCount);
}

void add_output(OptionTable& table, TrainOptions& options) {
  table.group("Output");
  table.add_text({.name = "output",
                  .letter = 'o',
                  .value = "FOLDER",
                  .help = "folder of the run: checkpoints, log.jsonl, curves as CSV and PNG",
                  .common = true},
                 options.output);
  table.add_switch({.name = "resume",
                    .help = "go on from the newest checkpoint in --output, if there is one",
                    .common = true},
                   options.resume);
  table.add_switch({.name = "overwrite", .help = "start anew in a folder that holds a run"},
                   options.overwrite);
  table.add_integer({.name = "checkpoint-steps",
                     .value = "N",
                     .help = "also save every N steps; 0: only at the end of epochs"},
                    options.checkpoint_steps, kCount);
  table.add_integer({.name = "checkpoint-epochs", .value = "N", .help = "save every N epochs"},
                    options.checkpoint_epochs, kPositive);
  table.add_integer(
      {.name = "keep-checkpoints", .value = "N", .help = "how many to keep, beside the best"},
      options.keep_checkpoints, kPositive);
  table.add_integer({.name = "evaluate-epochs", .value = "N", .help = "measure every N epochs"},
                    options.evaluate_epochs, kPositive);
  table.add_integer({.name = "log-steps", .value = "N", .help = "log every N steps"},
                    options.log_steps, kPositive);
  table.add_integer({.name = "norms-steps",
                     .value = "N",
                     .help = "log gradient and inner-loop norms by layer every N steps; 0: never"},
                    options.norms_steps, kCount);
  table.add_text({.name = "preview",
                  .value = "FILE.png",
                  .help = "write a sheet of training samples and stop"},
                 options.preview);
  table.add_choice({.name = "format", .value = "FORMAT", .help = "form of the final summary"},
                   options.format, {"table", "json"});
}

void add_running(OptionTable& table, TrainOptions& options) {
  table.group("Running");
  table.add_integer({.name = "seed",
                     .letter = 's',
                     .value = "N",
                     .help = "everything random follows from it; negative: a random one, which is "
                             "printed"},
                    options.seed, {});
  table.add_text({.name = "device", .value = "DEVICE", .help = "auto, cpu, cuda or cuda:N"},
                 options.device);
  add_backend(table, options.backend);
  table.add_choice({.name = "dtype",
                    .value = "TYPE",
                    .help = "bf16: matrix products and activations in bfloat16, weights in fp32"},
                   options.dtype, {"fp32", "bf16"});
  table.add_switch({.name = "recompute",
                    .help = "less memory: compute the inside of each block again in the backward "
                            "pass"},
                   options.recompute);
  table.add_integer({.name = "threads",
                     .letter = 't',
                     .value = "N",
                     .help = "threads for the model",
                     .standard = "one per core"},
                    options.threads, {1, 1024});
  table.add_integer({.name = "workers",
                     .value = "N",
                     .help = "threads that prepare batches; 0: the training thread does"},
                    options.workers, {0, 256});
  table.add_integer({.name = "max-steps",
                     .value = "N",
                     .help = "stop after this step; 0: at the end of the last epoch"},
                    options.max_steps, kCount);
  table.add_switch({.name = "overfit-one-batch",
                    .help = "check: learn the first batch by heart, without augmentation"},
                   options.overfit_one_batch);
  table.add_integer({.name = "overfit-steps", .value = "N", .help = "steps of that check"},
                    options.overfit_steps, kPositive);
  table.add_switch(
      {.name = "evaluate", .help = "measure --weights on the validation data, and train nothing"},
      options.evaluate);
  table.add_switch({.name = "dry-run", .help = "check everything, train nothing"}, options.dry_run);
}

}  // namespace

OptionTable train_table(TrainOptions& options) {
  OptionTable table(
      "train", "Train a classifier on labelled pictures, or a model of novel views on scenes.");
  add_data(table, options);
  add_model(table, options);
  add_inner(table, options);
  add_novel_view_options(table, options);
  add_picture(table, options);
  add_augmentation(table, options);
  add_optimisation(table, options);
  add_limits(table, options);
  add_output(table, options);
  add_running(table, options);
  table.positional({"config"});
  add_general_options(table, options.general, true);
  return table;
}

}  // namespace ttt::cli
