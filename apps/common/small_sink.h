// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/common/result_sink.h"

namespace ttt::cli {

/// For few rows: an output for which to_stream() holds, or else a file that is written as a whole
/// at the end and can't be resumed.
std::unique_ptr<ResultSink> make_small_sink(const std::string& output,
                                            std::unique_ptr<ResultRenderer> renderer);

}  // namespace ttt::cli
