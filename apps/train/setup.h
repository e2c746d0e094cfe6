// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/train/options.h"
#include "core/device.h"
#include "training/trainer.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ttt::cli {

/// Everything that the options mean, ready to train. What a family fills in comes last.
struct TrainSetup {
  DeviceChoice device;
  training::TrainerOptions trainer;
  bool averaged = false;  ///< a moving average is kept
  std::int64_t parameters = 0;
  std::int64_t step_memory = 0;  ///< bytes that a step needs on the CPU; 0: not estimated

  std::unique_ptr<training::Task> task;
  std::string model;  ///< its name
  PixelSize size{};   ///< of the pictures
  std::string data;   ///< what is trained and measured on, in words
  std::string unit;   ///< what a batch counts: "pictures"
  /// Pictures that could not be read so far.
  std::function<std::int64_t()> unreadable = [] { return std::int64_t{0}; };
  /// Writes a sheet of training samples.
  std::function<void(const std::string& path)> write_preview;
};

/// Opens the data, builds and fills the model. Throws Error(usage), Error(input), Error(weights).
TrainSetup set_up_training(const TrainOptions& options);

/// "64,128" as its parts.
std::vector<std::string> comma_parts(const std::string& text);

/// Throws Error(memory) where a step needs more than is free.
void check_memory(const TrainSetup& setup, const TrainOptions& options);

/// Tells on the log what will be done.
void announce(const TrainSetup& setup, const TrainOptions& options);

}  // namespace ttt::cli
