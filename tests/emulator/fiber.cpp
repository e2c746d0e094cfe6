// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/fiber.h"

#include <cstdint>
#include <stdexcept>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace ttt::emulator {
namespace {

// AddressSanitizer has to be told of every change of stack.
#if defined(__SANITIZE_ADDRESS__)
void announce_switch(void** fake_stack, const void* bottom, std::size_t bytes) {
  __sanitizer_start_switch_fiber(fake_stack, bottom, bytes);
}
void confirm_switch(void* fake_stack, const void** old_bottom, std::size_t* old_bytes) {
  __sanitizer_finish_switch_fiber(fake_stack, old_bottom, old_bytes);
}
void clear_poison(const void* stack, std::size_t bytes) {
  __asan_unpoison_memory_region(stack, bytes);
}
#else
void announce_switch(void**, const void*, std::size_t) {}
void confirm_switch(void*, const void**, std::size_t*) {}
void clear_poison(const void*, std::size_t) {}
#endif

}  // namespace

Fiber::Fiber() : stack_(new std::byte[kStackBytes]) {}

void Fiber::start(std::function<void()> body) {
  body_ = std::move(body);
  clear_poison(stack_.get(), kStackBytes);
  fake_stack_inside_ = nullptr;
  if (::getcontext(&inside_) != 0) throw std::runtime_error("getcontext failed");
  inside_.uc_stack.ss_sp = stack_.get();
  inside_.uc_stack.ss_size = kStackBytes;
  inside_.uc_link = nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(this);
  ::makecontext(&inside_, reinterpret_cast<void (*)()>(&Fiber::entry), 2,
                static_cast<unsigned int>(address >> 32), static_cast<unsigned int>(address));
}

void Fiber::entry(unsigned int high, unsigned int low) {
  auto* fiber = reinterpret_cast<Fiber*>((static_cast<std::uintptr_t>(high) << 32) | low);
  confirm_switch(nullptr, &fiber->outside_stack_, &fiber->outside_stack_bytes_);
  fiber->body_();
  fiber->leave(true);
}

void Fiber::resume() {
  void* fake_stack = nullptr;
  announce_switch(&fake_stack, stack_.get(), kStackBytes);
  ::swapcontext(&outside_, &inside_);
  confirm_switch(fake_stack, nullptr, nullptr);
}

void Fiber::suspend() {
  leave(false);
}

void Fiber::leave(bool for_good) {
  announce_switch(for_good ? nullptr : &fake_stack_inside_, outside_stack_, outside_stack_bytes_);
  ::swapcontext(&inside_, &outside_);
  confirm_switch(fake_stack_inside_, &outside_stack_, &outside_stack_bytes_);
}

}  // namespace ttt::emulator
