// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/classify/options.h"

#include "apps/common/shared_options.h"

namespace ttt::cli {
namespace {

void add_inputs(OptionTable& table, ClassifyOptions& options) {
  table.group("Inputs");
  table.add_list({.name = "input",
                  .letter = 'i',
                  .value = "INPUT",
                  .help = "picture, folder (recursive), glob, list (.txt), table of labels (.csv), "
                          "archive (.tar), or - for a list on standard input; the same as an "
                          "argument without a flag",
                  .common = true},
                 options.input);
  table.add_list({.name = "list",
                  .value = "FILE",
                  .help = "text file with one input per line; - reads standard input",
                  .common = true},
                 options.list);
  table.add_text(
      {.name = "split",
       .value = "NAME",
       .help = "which split of a data set <split>/<class>/file: auto (test, else val), all, or a "
               "name"},
      options.split);
  table.add_text({.name = "shard",
                  .value = "I/N",
                  .help = "only every N-th input, starting with number I (from 0)"},
                 options.shard);
  table.add_switch({.name = "stdin-jsonl",
                    .help = "stay loaded and answer requests: one JSON object per line on standard "
                            "input ({\"input\": path}), one result line each"},
                   options.stdin_jsonl);
  table.add_choice(
      {.name = "on-error", .value = "ACTION", .help = "what an unreadable picture does to the run"},
      options.on_error, {"skip", "stop"});
}

void add_model(OptionTable& table, ClassifyOptions& options) {
  table.group("Model");
  table.add_text({.name = "weights",
                  .letter = 'w',
                  .value = "FILE",
                  .help = "checkpoint: .pth, .pt, .ckpt or .safetensors",
                  .standard = "the shipped ViT3 for the ten classes of CIFAR-10",
                  .common = true},
                 options.weights);
  table.add_text({.name = "model",
                  .letter = 'm',
                  .value = "NAME",
                  .help = "model preset; `ttt list models` shows them",
                  .standard = "told from the weights",
                  .common = true},
                 options.model);
  table.add_text({.name = "weights-key",
                  .value = "KEY",
                  .help = "dictionary inside the checkpoint, such as model or state_dict_ema",
                  .standard = "EMA weights first"},
                 options.weights_key);
  add_allowed_tensors(table, options.allow_missing, options.allow_unexpected);
  table.add_switch({.name = "random-weights",
                    .help = "random weights instead of a file, to test shapes and speed"},
                   options.random_weights);
  table.add_integer({.name = "seed",
                     .letter = 's',
                     .value = "N",
                     .help = "seed of random weights; negative: a random one, which is printed"},
                    options.seed, {});
}

void add_preprocessing(OptionTable& table, ClassifyOptions& options) {
  table.group("Pre-processing");
  table.add_size({.name = "size",
                  .value = "WxH",
                  .help = "what the model sees",
                  .unit = "pixels",
                  .standard = "told from the weights, else 224x224",
                  .common = true},
                 options.size);
  table.add_choice({.name = "resize",
                    .value = "RULE",
                    .help = "cover: scale until the size is covered, then cut; squash: change the "
                            "aspect ratio"},
                   options.resize, {"auto", "cover", "squash"});
  table.add_number({.name = "crop-pct",
                    .value = "X",
                    .help = "part of the scaled picture that the cut keeps",
                    .standard = "told from the weights, else 0.875"},
                   options.crop_pct, {0.05, 1});
  table.add_numbers({.name = "mean",
                     .value = "R,G,B",
                     .help = "mean of the channels, for values from 0 to 1",
                     .standard = "told from the weights, else ImageNet's"},
                    options.mean, {-10, 10});
  table.add_numbers({.name = "std",
                     .value = "R,G,B",
                     .help = "standard deviation of the channels",
                     .standard = "told from the weights, else ImageNet's"},
                    options.std, {1e-6, 1000});
  table.add_choice({.name = "decode",
                    .value = "MODE",
                    .help = "photo: upright, alpha over white, damaged files are errors; official: "
                            "exactly what the official evaluation sees"},
                   options.decode, {"photo", "official"});
}

void add_results(OptionTable& table, ClassifyOptions& options) {
  table.group("Results");
  table.add_integer({.name = "top-k",
                     .letter = 'k',
                     .value = "N",
                     .help = "how many classes are shown for each picture",
                     .common = true},
                    options.top_k, {1, 100000});
  table.add_text({.name = "labels",
                  .value = "FILE",
                  .help = "class names: one per line, index-id-name rows with tabs, or JSON",
                  .standard = "told from the weights, else ImageNet's for 1000 classes"},
                 options.labels);
  table.add_switch({.name = "logits", .help = "add the scores of all classes to each row"},
                   options.logits);
  table.add_text(
      {.name = "features",
       .value = "FILE.safetensors",
       .help = "write the inputs of the last layer, [N, C], and the names of the pictures"},
      options.features);
  table.add_text(
      {.name = "sheet",
       .value = "FILE.png",
       .help = "write a contact sheet: the pictures with their labels and probabilities"},
      options.sheet);
  add_result_file(table, options.format, options.output, options.overwrite);
  table.add_switch(
      {.name = "resume",
       .help = "go on with an interrupted --output: pictures that are done are skipped"},
      options.resume);
}

void add_running(OptionTable& table, ClassifyOptions& options) {
  table.group("Running");
  add_device(table, options.device);
  add_backend(table, options.backend);
  table.add_choice({.name = "dtype", .value = "TYPE", .help = "type to compute in"}, options.dtype,
                   {"fp32", "bf16", "fp16"});
  add_tf32(table, options.tf32);
  add_cuda_graph(table, options.cuda_graph);
  table.add_switch(
      {.name = "deterministic",
       .help = "only operations that give the same bits each time; an error where there "
               "is none"},
      options.deterministic);
  add_threads(table, options.threads);
  table.add_integer({.name = "batch",
                     .letter = 'b',
                     .value = "N",
                     .help = "pictures per forward pass",
                     .common = true},
                    options.batch, {1, 4096});
  table.add_integer({.name = "workers",
                     .value = "N",
                     .help = "threads that read and decode pictures",
                     .standard = "one per core, at most 16"},
                    options.workers, {1, 256});
  table.add_switch(
      {.name = "dry-run", .help = "check everything, estimate the memory, classify nothing"},
      options.dry_run);
  table.group("Inner loop");
  table.add_switch({.name = "inner-update",
                    .help = "take the inner gradient step; off: the trained initial weights alone"},
                   options.inner_update);
  table.add_switch({.name = "inner-report",
                    .help = "report losses, gradient norms and step sizes of every TTT layer; "
                            "pictures then go one by one"},
                   options.inner_report);
}

}  // namespace

OptionTable classify_table(ClassifyOptions& options) {
  OptionTable table("classify", "Label pictures with a ViT3 or H-ViT3 model.");
  add_inputs(table, options);
  add_model(table, options);
  add_preprocessing(table, options);
  add_results(table, options);
  add_running(table, options);
  table.add_preset({"photo",
                    "pictures as people see them: upright, alpha over white (the default)",
                    {{"decode", "photo"}}});
  table.add_preset({"official",
                    "the official evaluation: its decoder, crop 0.875, fp32 without TF32",
                    {{"decode", "official"},
                     {"resize", "cover"},
                     {"crop-pct", "0.875"},
                     {"dtype", "fp32"},
                     {"tf32", "false"}}});
  table.positional({"input"});
  add_general_options(table, options.general, true);
  table.note(
      "Rows (jsonl): schema, input, status (ok or error), error and error_kind, topk (index, "
      "label, "
      "prob), logits, target, target_label and rank for labelled pictures, width, height, time_ms. "
      "The last line has status summary. A name that is not UTF-8 is shown with \\xNN for each odd "
      "byte, and input_hex then holds its exact bytes.");
  table.note(
      "With --output, rows are kept in FILE.partial until the end; --resume continues from there, "
      "or "
      "from a finished .jsonl file. FILE.run.json records the run; --config FILE.run.json repeats "
      "it.");
  return table;
}

}  // namespace ttt::cli
