// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/classify/setup.h"

namespace ttt::cli {

/// `--stdin-jsonl`: reads one JSON request per line from standard input, {"input": path} with an
/// optional "id" that comes back, and writes one result line each. Ends with the input, or at an
/// interrupt, with a summary line. Returns the exit code.
int serve(const ClassifySetup& setup, const ClassifyOptions& options);

}  // namespace ttt::cli
