// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/cuda_graph/graph_runner.h"

#include "core/error.h"
#include "core/log.h"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace ttt {
namespace {

constexpr const char* kFlag = "--cuda-graph on";

std::string key_of(const GraphRunner::Tensors& inputs, std::string_view variant) {
  std::string key(variant);
  for (const at::Tensor& input : inputs)
    key +=
        fmt::format("|{}[{}]", c10::toString(input.scalar_type()), fmt::join(input.sizes(), ","));
  return key;
}

/// Why the exception in flight was thrown, in one line.
std::string reason_in_flight() {
  std::string text;
  try {
    throw;
  } catch (const c10::Error& error) {
    text = error.what_without_backtrace();
  } catch (const std::exception& error) {
    text = error.what();
  }
  return printable(text.substr(0, text.find('\n')));
}

}  // namespace

/// What is known about the calls of one shape. The graph goes before the tensors it reads.
struct GraphRunner::Call {
  std::string key;
  int plain_passes = 0;
  Function function;
  Tensors inputs, outputs;
  std::unique_ptr<RecordedGraph> graph;
};

CudaGraphMode parse_cuda_graph_mode(std::string_view word) {
  if (word == "auto") return CudaGraphMode::automatic;
  if (word == "on") return CudaGraphMode::on;
  if (word == "off") return CudaGraphMode::off;
  throw Error(ErrorKind::usage, "unknown choice \"" + printable(word) + "\"", "--cuda-graph",
              "use auto, on or off");
}

void check_cuda_graph_mode(CudaGraphMode mode, c10::Device device) {
  TTT_CHECK(mode != CudaGraphMode::on || device.is_cuda(), device,
            "CUDA graphs need a GPU; this runs on " + device.str(), kFlag,
            "use --device cuda, or --cuda-graph auto");
}

GraphRunner::GraphRunner(CudaGraphMode mode, c10::Device device,
                         std::shared_ptr<GraphRecorder> recorder)
    : mode_(mode),
      device_(device),
      enabled_(mode != CudaGraphMode::off && (recorder != nullptr || device.is_cuda())),
      recorder_(std::move(recorder)) {
  if (recorder_ == nullptr) check_cuda_graph_mode(mode, device);
}

GraphRunner::Tensors GraphRunner::run(const Function& function, const Tensors& inputs,
                                      std::string_view variant) {
  const c10::InferenceMode inference;
  if (!enabled_) return function(on_device(inputs));
  Call& call = find(key_of(inputs, variant));
  if (call.graph != nullptr) {
    for (std::size_t i = 0; i < inputs.size(); ++i) call.inputs[i].copy_(inputs[i]);
  } else if (!failed_ && call.plain_passes >= kPlainPasses) {
    record(call, function, inputs);
  }
  if (call.graph == nullptr) {
    ++call.plain_passes;
    return function(on_device(inputs));
  }
  call.graph->replay();
  return call.outputs;
}

std::size_t GraphRunner::recorded() const {
  return static_cast<std::size_t>(
      std::count_if(calls_.begin(), calls_.end(),
                    [](const std::shared_ptr<Call>& call) { return call->graph != nullptr; }));
}

GraphRunner::Call& GraphRunner::find(std::string key) {
  const auto found =
      std::find_if(calls_.begin(), calls_.end(),
                   [&](const std::shared_ptr<Call>& call) { return call->key == key; });
  if (found != calls_.end()) {
    calls_.splice(calls_.begin(), calls_, found);
  } else {
    if (calls_.size() == kKept) calls_.pop_back();
    calls_.push_front(std::make_shared<Call>());
    calls_.front()->key = std::move(key);
  }
  return *calls_.front();
}

void GraphRunner::record(Call& call, const Function& function, const Tensors& inputs) {
  try {
    if (recorder_ == nullptr) recorder_ = open_cuda_graph_recorder();
    call.function = function;
    for (const at::Tensor& input : inputs)
      call.inputs.push_back(at::empty_like(input, input.options().device(device_)).copy_(input));
    call.graph = recorder_->record(device_, [&call] { call.outputs = call.function(call.inputs); });
    log_debug("recorded a CUDA graph for {}", call.key);
  } catch (const std::exception&) {
    const std::string reason = reason_in_flight();
    call.function = nullptr;
    call.inputs.clear();
    call.outputs.clear();
    TTT_CHECK(mode_ != CudaGraphMode::on, device, "no CUDA graph could be recorded: " + reason,
              kFlag, "use --cuda-graph auto");
    // What failed once would fail, and warn, at every other shape; what is recorded stays good.
    failed_ = true;
    log_warning("no CUDA graph could be recorded, launching plainly: {}", reason);
  }
}

GraphRunner::Tensors GraphRunner::on_device(const Tensors& tensors) const {
  Tensors there;
  for (const at::Tensor& tensor : tensors) there.push_back(tensor.to(device_));
  return there;
}

}  // namespace ttt
