// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace ttt::cli {

/// Writes all of the text. Throws ReaderGone when the reader closed the pipe, and Error(output) for
/// every other failure (full disk, closed descriptor). `name` is for messages.
void write_descriptor(int descriptor, std::string_view text, const std::string& name);
void write_stdout(std::string_view text);

/// Makes the process safe to run: a descriptor 0 to 2 that the caller closed must not be given to
/// the next file we open, and a closed pipe must be an error instead of a signal.
void prepare_process();

}  // namespace ttt::cli
