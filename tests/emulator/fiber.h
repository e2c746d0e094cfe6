// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <ucontext.h>

namespace ttt::emulator {

/// A thread of execution with its own stack that runs until it suspends itself; all fibers share
/// one operating-system thread, so exactly one runs at a time.
class Fiber {
 public:
  Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Makes the next resume() run `body` from its start. What ran before, finished or not, is
  /// abandoned: nothing on its stack is destroyed. `body` must not throw.
  void start(std::function<void()> body);
  /// Runs the fiber until it suspends or ends. Called outside of it.
  void resume();
  /// Returns to the caller of resume(). Called inside.
  void suspend();

 private:
  static void entry(unsigned int high, unsigned int low);
  void leave(bool for_good);

  static constexpr std::size_t kStackBytes = 256 * 1024;
  std::unique_ptr<std::byte[]> stack_;
  std::function<void()> body_;
  ucontext_t inside_{}, outside_{};
  void* fake_stack_inside_ = nullptr;  // of AddressSanitizer
  const void* outside_stack_ = nullptr;
  std::size_t outside_stack_bytes_ = 0;
};

}  // namespace ttt::emulator
