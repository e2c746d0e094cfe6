// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/train/setup.h"

namespace ttt::cli {

/// Fills in what depends on the family: the classifier, its labelled pictures and its task. Throws
/// Error(usage), Error(input), Error(weights).
void set_up_classification(TrainSetup& setup, const TrainOptions& options);

}  // namespace ttt::cli
