// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/train_support.h"

#include "tests/support/pictures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace ttt::test {

TrainingFolder::TrainingFolder() {
  write_class_folders(folder_ / "data", 3, 4, 12);
}

std::vector<std::string> TrainingFolder::call(const std::string& run,
                                              std::vector<std::string> more) const {
  std::vector<std::string> arguments{
      "train", "--data",      path("data"), "--output",        path(run), "--model",
      "vit3",  "--dims",      "16",         "--depths",        "2",       "--heads",
      "2",     "--patch",     "4",          "--size",          "8",       "--batch",
      "4",     "--epochs",    "2",          "--threads",       "1",       "--max-steps",
      "3",     "--log-steps", "1",          "--warmup-epochs", "0",       "--seed",
      "1",     "--drop-path", "0.2",        "--learning-rate", "0.1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::vector<std::string> TrainingFolder::call_with_data(
    const std::string& data, const std::string& run, const std::vector<std::string>& more) const {
  std::vector<std::string> arguments = call(run, more);
  std::replace(arguments.begin(), arguments.end(), path("data"), path(data));
  return arguments;
}

std::string TrainingFolder::weights(const std::string& run,
                                    const std::vector<std::string>& more) const {
  const ProgramResult result = run_ttt(call(run, more));
  EXPECT_EQ(result.code, 0) << result.err;
  return newest_weights(path(run));
}

std::string newest_weights(const std::string& run) {
  std::string newest;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(run + "/checkpoints", ignored)) {
    const std::string name = entry.path().string();
    if (name.ends_with(".safetensors") && name.find("/step-") != std::string::npos && name > newest)
      newest = name;
  }
  return newest.empty() ? "" : read_text_file(newest);
}

ProgramResult run_and_kill(const std::string& stop, const std::vector<std::string>& arguments) {
  std::vector<std::string> shell{
      "/bin/bash",
      "-c",
      "stop=$1; shift; \"$@\" & pid=$!\n"
      "while [ ! -e \"$stop\" ]; do kill -0 $pid || exit 1; sleep 0.005; done\n"
      "kill -9 $pid; wait $pid; echo $?",
      "bash",
      stop,
      ttt_path()};
  shell.insert(shell.end(), arguments.begin(), arguments.end());
  return run_program({.arguments = shell});
}

}  // namespace ttt::test
