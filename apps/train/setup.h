// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/train/options.h"
#include "vision/model_catalog.h"
#include "vision/training/classification_task.h"

#include <memory>

namespace ttt::cli {

/// Everything that the options mean, ready to train.
struct TrainSetup {
  vision::ModelSpec spec;
  std::shared_ptr<const vision::LabelledImages> data, validation;
  vision::ClassificationTaskOptions task_options;
  training::TrainerOptions trainer;
  std::unique_ptr<vision::ClassificationTask> task;
  std::int64_t parameters = 0;
};

/// Opens the data, builds and fills the model. Throws Error(usage), Error(input), Error(weights).
TrainSetup set_up_training(const TrainOptions& options);

/// Tells on the log what will be done.
void announce(const TrainSetup& setup, const TrainOptions& options);

}  // namespace ttt::cli
