// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/common/result_sink.h"

namespace ttt::cli {

/// Before the work: false for an output for which to_stream() holds; else true, once the file and
/// its run record can be written. Throws Error(output).
bool check_small_output(const std::string& output, bool overwrite);

/// For few rows: an output for which to_stream() holds, or else a file that is written as a whole
/// at the end and can't be resumed.
std::unique_ptr<ResultSink> make_small_sink(const std::string& output,
                                            std::unique_ptr<ResultRenderer> renderer);

}  // namespace ttt::cli
