// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/cancel.h"

#include <atomic>
#include <csignal>

namespace ttt {
namespace {

std::atomic<bool> requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "used in a signal handler");

void on_signal(int signal_number) {
  if (requested.exchange(true)) {
    std::signal(signal_number, SIG_DFL);
    std::raise(signal_number);
  }
}

}  // namespace

void request_cancel() noexcept {
  requested = true;
}
bool cancel_requested() noexcept {
  return requested;
}
void reset_cancel() noexcept {
  requested = false;
}

void install_cancel_signal_handler() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  // No SA_RESTART: a blocking read of standard input must return.
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace ttt
