// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/error.h"

#include <exception>

namespace ttt::cli {

/// The reader of standard output has gone away (`ttt … | head`): not worth a message. Ends the
/// program with exit code 5, since not all results arrived.
class ReaderGone : public Error {
 public:
  ReaderGone() : Error(ErrorKind::output, "the reader of standard output has gone away") {}
};

/// Any exception as an Error: ours unchanged, LibTorch's and the standard library's by their kind.
Error as_error(const std::exception_ptr& exception);

/// Prints "error: <what> (<where>)" and "hint: <action>" as the last lines of standard error,
/// preceded by the source location when debug lines are shown, and returns the exit code.
int report_error(const std::exception_ptr& exception);

}  // namespace ttt::cli
