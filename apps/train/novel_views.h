// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/train/setup.h"

namespace ttt::cli {

/// Whether the options ask for a model of novel views (--model lvsm).
bool trains_novel_views(const TrainOptions& options);

/// Fills in what depends on the family: the LaCT-LVSM model, its scenes and its task. Throws
/// Error(usage), Error(input), Error(weights).
void set_up_novel_views(TrainSetup& setup, const TrainOptions& options);

/// Writes the made-up scenes that --validation procedural measures on as data sets (--export).
void export_validation_scenes(const TrainOptions& options);

}  // namespace ttt::cli
