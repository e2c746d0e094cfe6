// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/cpu_isa.h"

#include "core/error.h"

#include <spdlog/fmt/fmt.h>

#include <atomic>
#include <cstdlib>

namespace ttt::ops {
namespace {

constexpr int kUnset = -1;
std::atomic<int> override_isa{kUnset};

void check_runnable(CpuIsa isa, ErrorKind kind, const char* where) {
  if (isa <= best_cpu_isa()) return;
  throw Error(kind, fmt::format("this processor or build can't run {} code", to_string(isa)), where,
              fmt::format("use {}", to_string(best_cpu_isa())));
}

CpuIsa isa_from_environment() {
  const char* word = std::getenv("TTT_CPU_ISA");
  if (word == nullptr) return best_cpu_isa();
  for (const CpuIsa isa : kCpuIsas) {
    if (word != to_string(isa)) continue;
    check_runnable(isa, ErrorKind::usage, "TTT_CPU_ISA");
    return isa;
  }
  throw Error(ErrorKind::usage, fmt::format("unknown instruction set '{}'", printable(word)),
              "TTT_CPU_ISA", "use baseline, avx2 or avx512");
}

}  // namespace

std::string_view to_string(CpuIsa isa) {
  switch (isa) {
    case CpuIsa::avx512:
      return "avx512";
    case CpuIsa::avx2:
      return "avx2";
    case CpuIsa::baseline:
      break;
  }
  return "baseline";
}

CpuIsa best_cpu_isa() {
#if defined(__x86_64__)
  static const CpuIsa best = [] {
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
      return CpuIsa::avx512;
    return avx2 ? CpuIsa::avx2 : CpuIsa::baseline;
  }();
  return best;
#else
  return CpuIsa::baseline;
#endif
}

CpuIsa cpu_isa() {
  if (const int isa = override_isa; isa != kUnset) return static_cast<CpuIsa>(isa);
  static const CpuIsa usual = isa_from_environment();
  return usual;
}

void set_cpu_isa(std::optional<CpuIsa> isa) {
  if (isa) check_runnable(*isa, ErrorKind::device, "set_cpu_isa");
  override_isa = isa ? static_cast<int>(*isa) : kUnset;
}

}  // namespace ttt::ops
