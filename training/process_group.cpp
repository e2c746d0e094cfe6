// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "training/process_group.h"

#include "core/error.h"
#include "core/log.h"

#include <ATen/ATen.h>
#include <spdlog/fmt/fmt.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <string_view>

namespace ttt::training {
namespace {

constexpr std::chrono::minutes kTimeout{30};  // an evaluation of the first process may take long
constexpr std::chrono::seconds kStartTimeout{120};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int number(const char* name, int low, int high) {
  const std::string text = variable(name);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  TTT_CHECK(
      error == std::errc{} && end == text.data() + text.size() && value >= low && value <= high,
      usage, fmt::format("{} must be a number from {} to {}", name, low, high),
      fmt::format("environment {}={}", name, printable(text)),
      "start the processes with torchrun, or see scripts/train_parallel.sh");
  return value;
}

/// LibTorch's messages go on with a stack trace.
std::string first_line(std::string_view text) {
  return printable(text.substr(0, text.find('\n')));
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host.starts_with("127.") || host == "::1";
}

using CreateNccl = c10d::Backend* (*)(const c10::intrusive_ptr<c10d::Store>&, int, int,
                                      std::int64_t);

/// The function of training/nccl; null, with a word on the log, where the module wasn't built or
/// can't be opened.
CreateNccl open_nccl() {
  void* module = ::dlopen("libttt_nccl.so", RTLD_NOW | RTLD_LOCAL);
  void* create = module != nullptr ? ::dlsym(module, "ttt_create_nccl_backend") : nullptr;
  if (create != nullptr) return reinterpret_cast<CreateNccl>(create);
  log_warning("gradients travel through the host: no NCCL ({})", printable(::dlerror()));
  return nullptr;
}

}  // namespace

/// Gloo for the CPU. NCCL for GPUs comes with their first tensor, since a run on CPUs must not open
/// LibTorch's CUDA library.
struct ProcessGroup::Backend {
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo;
  c10::intrusive_ptr<c10d::Backend> nccl;
  bool nccl_tried = false;

  c10d::Backend* for_gpu(int rank, int size) {
    if (!nccl_tried) {
      nccl_tried = true;
      const CreateNccl create = open_nccl();
      constexpr auto kLimit = std::chrono::duration_cast<std::chrono::milliseconds>(kTimeout);
      if (create != nullptr)
        nccl = c10::intrusive_ptr<c10d::Backend>::reclaim(create(
            c10::make_intrusive<c10d::PrefixStore>("nccl", store), rank, size, kLimit.count()));
    }
    return nccl.get();
  }
};

std::shared_ptr<ProcessGroup> ProcessGroup::from_environment() {
  if (variable("WORLD_SIZE").empty()) return nullptr;
  constexpr int kMostProcesses = 4096, kLastPort = 65535;
  const int size = number("WORLD_SIZE", 1, kMostProcesses);
  if (size == 1) return nullptr;
  const int rank = number("RANK", 0, size - 1);
  const int port = number("MASTER_PORT", 1, kLastPort);
  const std::string host = variable("MASTER_ADDR").empty() ? "127.0.0.1" : variable("MASTER_ADDR");
  try {
    c10d::TCPStoreOptions store_options;
    store_options.port = static_cast<std::uint16_t>(port);
    store_options.isServer = rank == 0 && variable("TORCHELASTIC_USE_AGENT_STORE") != "True";
    store_options.numWorkers = static_cast<std::size_t>(size);
    store_options.timeout = kStartTimeout;
    store_options.waitWorkers = store_options.isServer || rank != 0;
    auto backend = std::make_unique<Backend>();
    backend->store = c10::make_intrusive<c10d::PrefixStore>(
        "ttt", c10::make_intrusive<c10d::TCPStore>(host, store_options));
    const auto options = c10d::ProcessGroupGloo::Options::create(kTimeout);
    options->devices.push_back(is_loopback(host)
                                   ? c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1")
                                   : c10d::ProcessGroupGloo::createDefaultDevice());
    backend->gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(
        c10::make_intrusive<c10d::PrefixStore>("gloo", backend->store), rank, size, options);
    return std::shared_ptr<ProcessGroup>(new ProcessGroup(rank, size, std::move(backend)));
  } catch (const std::exception& error) {
    throw Error(
        ErrorKind::device,
        fmt::format("the {} processes did not find each other: {}", size, first_line(error.what())),
        fmt::format("{}:{}", printable(host), port),
        "check that all of them run and that the port is free");
  }
}

int ProcessGroup::local_rank() {
  constexpr int kMostGpus = 1023;
  return variable("LOCAL_RANK").empty() ? 0 : number("LOCAL_RANK", 0, kMostGpus);
}

ProcessGroup::ProcessGroup(int rank, int size, std::unique_ptr<Backend> backend)
    : rank_(rank), size_(size), backend_(std::move(backend)) {}

ProcessGroup::~ProcessGroup() = default;

void ProcessGroup::sum(const at::Tensor& tensor) {
  std::vector<at::Tensor> sent{tensor.detach().contiguous()};
  try {
    c10d::Backend* on_gpu = tensor.is_cuda() ? backend_->for_gpu(rank_, size_) : nullptr;
    if (on_gpu == nullptr) sent[0] = sent[0].to(at::kCPU);
    c10d::Backend* backend = on_gpu != nullptr ? on_gpu : backend_->gloo.get();
    backend->allreduce(sent, c10d::AllreduceOptions())->wait();
  } catch (const std::exception& error) {
    throw Error(ErrorKind::device,
                "another process of the run is gone: " + first_line(error.what()),
                fmt::format("rank {} of {}", rank_, size_),
                "look at its own messages, then continue all with --resume");
  }
  const at::NoGradGuard no_grad;
  if (sent[0].data_ptr() != tensor.data_ptr()) at::Tensor(tensor).copy_(sent[0]);
}

void ProcessGroup::sum(const std::vector<at::Tensor>& tensors) {
  if (tensors.empty()) return;
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> parts;
  for (const at::Tensor& tensor : tensors) parts.push_back(tensor.detach().reshape({-1}));
  const at::Tensor flat = at::cat(parts);
  sum(flat);
  std::int64_t offset = 0;
  for (const at::Tensor& tensor : tensors) {
    at::Tensor(tensor).copy_(flat.narrow(0, offset, tensor.numel()).view(tensor.sizes()));
    offset += tensor.numel();
  }
}

}  // namespace ttt::training
