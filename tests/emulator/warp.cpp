// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/warp.h"

#include <bit>

namespace ttt::emulator {
namespace {

struct ShuffleInput {
  std::uint64_t bits;
  int source;
};

void run_shuffle(const Lanes& lanes, std::uint32_t mask) {
  for (int i = 0; i < kWarpSize; ++i) {
    if ((mask >> i & 1) == 0) continue;
    const auto& in = *static_cast<const ShuffleInput*>(lanes[i].in);
    if (in.source < 0 || in.source >= kWarpSize || (mask >> in.source & 1) == 0)
      throw Fault(Fault::Kind::warp, running_thread() + ": lane " + std::to_string(i) +
                                         " reads lane " + std::to_string(in.source) + " in " +
                                         lanes[i].name + " " + to_string(lanes[i].site) +
                                         ", which its mask leaves out");
    *static_cast<std::uint64_t*>(lanes[i].out) =
        static_cast<const ShuffleInput*>(lanes[in.source].in)->bits;
  }
}

void run_ballot(const Lanes& lanes, std::uint32_t mask) {
  std::uint32_t votes = 0;
  for (int i = 0; i < kWarpSize; ++i)
    if ((mask >> i & 1) != 0 && *static_cast<const int*>(lanes[i].in) != 0) votes |= 1U << i;
  for (int i = 0; i < kWarpSize; ++i)
    if ((mask >> i & 1) != 0) *static_cast<std::uint32_t*>(lanes[i].out) = votes;
}

void run_warp_barrier(const Lanes&, std::uint32_t) {
  pass_warp_barrier();
}

struct Rows {
  std::uint16_t elements[8];
};

/// Every lane has read its own row; here the elements find their lanes.
void run_load_matrices(const Lanes& lanes, std::uint32_t, bool transposed) {
  const auto element = [&](int matrix, int row, int column) -> std::uint32_t {
    return static_cast<const Rows*>(lanes[8 * matrix + row].in)->elements[column];
  };
  for (int lane = 0; lane < kWarpSize; ++lane) {
    const int group = lane / 4, pair = 2 * (lane % 4);
    auto* registers = static_cast<std::uint32_t*>(lanes[lane].out);
    for (int matrix = 0; matrix < 4; ++matrix)
      registers[matrix] =
          transposed ? element(matrix, pair, group) | element(matrix, pair + 1, group) << 16
                     : element(matrix, group, pair) | element(matrix, group, pair + 1) << 16;
  }
}
void run_load_plain(const Lanes& lanes, std::uint32_t mask) {
  run_load_matrices(lanes, mask, false);
}
void run_load_transposed(const Lanes& lanes, std::uint32_t mask) {
  run_load_matrices(lanes, mask, true);
}

struct Operands {
  const std::uint32_t* a;
  const std::uint32_t* b;
};

float half_of(std::uint32_t pair, int which) {
  return std::bit_cast<float>((which == 0 ? pair << 16 : pair & 0xffff0000U));
}

void run_multiply(const Lanes& lanes, std::uint32_t) {
  float a[16][16], b[16][8];
  for (int lane = 0; lane < kWarpSize; ++lane) {
    const auto& in = *static_cast<const Operands*>(lanes[lane].in);
    const int group = lane / 4, pair = 2 * (lane % 4);
    for (int half = 0; half < 2; ++half) {
      a[group][pair + half] = half_of(in.a[0], half);
      a[group + 8][pair + half] = half_of(in.a[1], half);
      a[group][pair + 8 + half] = half_of(in.a[2], half);
      a[group + 8][pair + 8 + half] = half_of(in.a[3], half);
      b[pair + half][group] = half_of(in.b[0], half);
      b[pair + 8 + half][group] = half_of(in.b[1], half);
    }
  }
  for (int lane = 0; lane < kWarpSize; ++lane) {
    auto* c = static_cast<float*>(lanes[lane].out);
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
      for (int k = 0; k < 16; ++k) c[i] += a[row][k] * b[k][column];
    }
  }
}

constexpr std::uint32_t kWholeWarp = 0xffffffffU;

}  // namespace

std::uint64_t shuffle_bits(std::uint64_t bits, int source, std::uint32_t mask, const char* name,
                           Site site) {
  const ShuffleInput in{bits, source};
  std::uint64_t out = 0;
  warp_operation(run_shuffle, name, mask, &in, &out, site);
  return out;
}

std::uint32_t __ballot_sync(std::uint32_t mask, int predicate, Site site) {
  std::uint32_t votes = 0;
  warp_operation(run_ballot, "__ballot_sync", mask, &predicate, &votes, site);
  return votes;
}

void __syncwarp(std::uint32_t mask, Site site) {
  warp_operation(run_warp_barrier, "__syncwarp", mask, nullptr, nullptr, site);
}

void load_matrices(std::uint32_t (&registers)[4], const SharedPointer<std::uint16_t>& row,
                   bool transposed, Site site) {
  Rows own;
  row.read(own.elements, sizeof(own.elements), 16);
  warp_operation(transposed ? run_load_transposed : run_load_plain, "load_matrices", kWholeWarp,
                 &own, registers, site);
}

void multiply_accumulate(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                         Site site) {
  const Operands in{a, b};
  warp_operation(run_multiply, "multiply_accumulate", kWholeWarp, &in, c, site);
}

}  // namespace ttt::emulator
