// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/device.h"

#include "core/error.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/detail/CUDAHooksInterface.h>

#include <charconv>
#include <dlfcn.h>
#include <filesystem>
#include <optional>

namespace ttt {
namespace {

bool driver_present() {
  std::error_code ignored;
  return std::filesystem::exists("/dev/nvidiactl", ignored) ||
         std::filesystem::exists("/dev/dxg", ignored);
}

/// Opens LibTorch's CUDA library once; its static initialisers register the CUDA kernels and hooks.
/// Empty on success, else why not. Must come before the first question to LibTorch about CUDA,
/// since that answer is cached.
std::string open_cuda_library() {
  static const std::string problem = [] {
    if (::dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) != nullptr) return std::string{};
    const char* message = ::dlerror();
    return std::string("LibTorch's CUDA library can't be opened: ") +
           (message != nullptr ? message : "unknown reason");
  }();
  return problem;
}

/// Empty when at least one GPU can be used, else why not.
std::string cuda_problem(int* count) {
  *count = 0;
  if (!driver_present()) return "no NVIDIA driver is loaded on this machine";
  if (std::string problem = open_cuda_library(); !problem.empty()) return problem;
  if (!at::detail::getCUDAHooks().hasCUDA()) return "LibTorch sees no usable GPU";
  *count = at::detail::getCUDAHooks().deviceCount();
  return *count > 0 ? "" : "LibTorch sees no GPU";
}

std::string cpu_words() {
  return std::to_string(at::get_num_threads()) + " threads, " + at::get_cpu_capability();
}

/// N of "cuda:N", 0 for "cuda", nothing when it is neither.
std::optional<int> cuda_index(std::string_view request) {
  if (request == "cuda") return 0;
  if (!request.starts_with("cuda:")) return std::nullopt;
  request.remove_prefix(5);
  int index = -1;
  const auto [end, error] = std::from_chars(request.data(), request.data() + request.size(), index);
  if (error != std::errc{} || end != request.data() + request.size() || index < 0)
    return std::nullopt;
  return index;
}

}  // namespace

DeviceChoice choose_device(std::string_view request) {
  const c10::Device cpu(c10::DeviceType::CPU);
  if (request == "cpu") return {cpu, "asked for"};
  int count = 0;
  if (request == "auto") {
    const std::string problem = cuda_problem(&count);
    if (!problem.empty()) return {cpu, problem};
    return {c10::Device(c10::DeviceType::CUDA, 0), "a GPU was found"};
  }
  const std::optional<int> index = cuda_index(request);
  TTT_CHECK(index, usage, "unknown device \"" + printable(request) + "\"", "--device",
            "use auto, cpu, cuda or cuda:N");
  const std::string problem = cuda_problem(&count);
  TTT_CHECK(problem.empty(), device, "no GPU can be used: " + problem,
            "--device " + std::string(request), "use --device cpu, or --device auto");
  TTT_CHECK(*index < count, device,
            "GPU " + std::to_string(*index) + " does not exist; there are " + std::to_string(count),
            "--device " + std::string(request), "`ttt list devices` shows them");
  return {c10::Device(c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(*index)), "asked for"};
}

std::vector<std::string> list_devices() {
  std::vector<std::string> lines{"cpu: " + cpu_words()};
  int count = 0;
  const std::string problem = cuda_problem(&count);
  if (!problem.empty()) lines.push_back("cuda: none (" + problem + ")");
  for (int i = 0; i < count; ++i) lines.push_back("cuda:" + std::to_string(i));
  return lines;
}

}  // namespace ttt
