// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/watch.h"

#include <atomic>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <sys/time.h>
#include <unistd.h>

// Of the sanitizers' run-time library; g++ has no header for the first two.
extern "C" {
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*, std::size_t),
                                              void (*on_free)(const volatile void*));
std::size_t __sanitizer_get_allocated_size(const volatile void* pointer);
void __sanitizer_set_death_callback(void (*callback)());
void __sanitizer_print_stack_trace();

/// Read by the sanitizers at start. A larger block than the largest bound is reported when it is
/// asked for; a failed assertion is reported like a crash.
const char* __asan_default_options() {
  return "max_allocation_size_mb=1024:handle_abort=1:detect_leaks=1:print_summary=1:"
         "detect_stack_use_after_return=0";
}

/// An abortion is reported through AddressSanitizer, which knows what is to be called then.
const char* __ubsan_default_options() {
  return "abort_on_error=1:print_stacktrace=1";
}
}

namespace ttt::fuzz {
namespace {

std::atomic<std::int64_t> held{0};
std::atomic<std::int64_t> peak{0};
std::atomic<std::int64_t> bound{INT64_MAX};
std::int64_t held_before = 0;
std::clock_t clock_before = 0;
void (*report_function)() = nullptr;

/// From a hook or a signal.
[[noreturn]] void stop(const char* what) {
  bound = INT64_MAX;
  std::fprintf(stderr, "fuzz: %s\n", what);
  __sanitizer_print_stack_trace();
  report_function();
  ::_exit(1);
}

void on_malloc(const volatile void*, std::size_t size) {
  const std::int64_t now = held += static_cast<std::int64_t>(size);
  if (now > peak) peak = now;
  if (now > bound) stop("the memory bound was passed");
}

void on_free(const volatile void* pointer) {
  held -= static_cast<std::int64_t>(__sanitizer_get_allocated_size(pointer));
}

void set_timer(int which, double seconds) {
  const double whole = std::floor(seconds);
  const itimerval timer{
      {0, 0}, {static_cast<time_t>(whole), static_cast<suseconds_t>((seconds - whole) * 1e6)}};
  ::setitimer(static_cast<__itimer_which>(which), &timer, nullptr);
}

/// A reader that waits for something takes no processor time.
constexpr double kRealSeconds = 120;

}  // namespace

void start_watch(void (*report)()) {
  report_function = report;
  __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
  __sanitizer_set_death_callback(report);
  std::signal(SIGPROF, [](int) { stop("the time bound was passed"); });
  std::signal(SIGALRM, [](int) { stop("the reader waits for something"); });
}

void begin_bounds(const Bounds& bounds) {
  set_timer(ITIMER_PROF, bounds.seconds);
  set_timer(ITIMER_REAL, kRealSeconds);
  held_before = held;
  peak = held_before;
  clock_before = std::clock();
  bound = held_before + static_cast<std::int64_t>(bounds.memory);
}

Usage end_bounds() {
  bound = INT64_MAX;
  set_timer(ITIMER_PROF, 0);
  set_timer(ITIMER_REAL, 0);
  return {static_cast<std::uint64_t>(peak - held_before), held - held_before,
          static_cast<double>(std::clock() - clock_before) / CLOCKS_PER_SEC};
}

}  // namespace ttt::fuzz
