// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace ttt::ops {

/// Instruction sets with hand-vectorised code. The files named cpu_kernel.cpp are compiled once for
/// each, inside a namespace of that name (macro TTT_ISA); which copy runs is decided at run time.
enum class CpuIsa { baseline, avx2, avx512 };

constexpr std::array<CpuIsa, 3> kCpuIsas{CpuIsa::baseline, CpuIsa::avx2, CpuIsa::avx512};

std::string_view to_string(CpuIsa isa);

/// The best one that this build has and this processor can run.
CpuIsa best_cpu_isa();

/// The one in use: the override, else TTT_CPU_ISA from the environment (baseline, avx2, avx512),
/// else the best. Throws Error(usage) when the variable holds something else or more than the CPU
/// has.
CpuIsa cpu_isa();

/// Overrides the choice, for tests; nullopt returns to the usual one. Throws Error(device) when the
/// processor can't run it.
void set_cpu_isa(std::optional<CpuIsa> isa);

/// Overrides the choice for one scope.
class ScopedCpuIsa {
 public:
  explicit ScopedCpuIsa(CpuIsa isa) { set_cpu_isa(isa); }
  ~ScopedCpuIsa() { set_cpu_isa(std::nullopt); }
  ScopedCpuIsa(const ScopedCpuIsa&) = delete;
  ScopedCpuIsa& operator=(const ScopedCpuIsa&) = delete;
};

/// The table of kernels for the instruction set in use.
template <typename Table>
const Table& select_kernels(const Table& baseline, [[maybe_unused]] const Table& avx2,
                            [[maybe_unused]] const Table& avx512) {
  switch (cpu_isa()) {
    case CpuIsa::avx512:
      return avx512;
    case CpuIsa::avx2:
      return avx2;
    case CpuIsa::baseline:
      break;
  }
  return baseline;
}

}  // namespace ttt::ops
