// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// What the compiled kernels need of a GPU, from the table that the build writes. Dynamic shared
// memory is limited where it is asked for: 99 KB, in kernels/ttt_gated_linear/tiles.cuh and by the
// emulator.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Kernel {
  std::string gpu;
  int registers = 0, shared_bytes = 0, stack_bytes = 0, spilled_bytes = 0;
  std::string name;
};

std::vector<Kernel> table() {
  std::ifstream file(TTT_CUDA_RESOURCES);
  std::string line;
  std::getline(file, line);  // titles
  std::vector<Kernel> kernels;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    Kernel kernel;
    fields >> kernel.gpu >> kernel.registers >> kernel.shared_bytes >> kernel.stack_bytes >>
        kernel.spilled_bytes;
    EXPECT_TRUE(fields) << line;
    std::getline(fields >> std::ws, kernel.name);
    kernels.push_back(kernel);
  }
  return kernels;
}

/// Registers of a thread, so that a multiprocessor with 65536 of them holds several blocks.
int register_limit(const Kernel& kernel) {
  const bool gated = kernel.name.find("gated_") != std::string::npos;
  // The tap sums of a fused activation: two blocks of 128 threads.
  if (kernel.name.find("tap_sums_kernel") != std::string::npos) return 192;
  if (!gated) return 128;  // two blocks of 256 threads
  const bool wide = kernel.name.find(", 128") != std::string::npos;
  return wide ? 208 : 168;  // two or three blocks of 128 threads; kGatedBlocks
}

TEST(CudaResources, EveryKernelIsThereForEveryGpu) {
  std::map<std::string, int> kernels_of;
  for (const Kernel& kernel : table()) ++kernels_of[kernel.gpu];
  ASSERT_FALSE(kernels_of.empty()) << "the table " << TTT_CUDA_RESOURCES << " is empty";
  for (const auto& [gpu, count] : kernels_of) {
    EXPECT_EQ(gpu.substr(0, 3), "sm_");
    EXPECT_EQ(count, kernels_of.begin()->second) << gpu;
    EXPECT_GT(count, 30) << gpu;
  }
}

TEST(CudaResources, NothingSpills) {
  for (const Kernel& kernel : table()) {
    EXPECT_EQ(kernel.spilled_bytes, 0) << kernel.gpu << " " << kernel.name;
    EXPECT_EQ(kernel.stack_bytes, 0) << kernel.gpu << " " << kernel.name;
  }
}

TEST(CudaResources, RegistersAndSharedMemoryLeaveRoomForSeveralBlocks) {
  for (const Kernel& kernel : table()) {
    EXPECT_LE(kernel.registers, register_limit(kernel)) << kernel.gpu << " " << kernel.name;
    EXPECT_LE(kernel.shared_bytes, 4096 + 512) << kernel.gpu << " " << kernel.name;
  }
}

}  // namespace
