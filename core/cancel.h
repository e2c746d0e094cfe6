// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ttt {

/// Asks all running work of this process to stop after the current item. Safe in a signal handler.
void request_cancel() noexcept;
bool cancel_requested() noexcept;
/// Forgets an earlier request (for programs that embed the library, and tests).
void reset_cancel() noexcept;

/// The first SIGINT or SIGTERM requests cancellation, a second one ends the process at once.
void install_cancel_signal_handler();

}  // namespace ttt
