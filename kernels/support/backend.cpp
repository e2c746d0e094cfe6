// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/backend.h"

#include "core/error.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <utility>

namespace ttt::ops {
namespace {

constexpr std::array<std::pair<std::string_view, Backend>, 4> kWords{{
    {"auto", Backend::automatic},
    {"reference", Backend::reference},
    {"cpu", Backend::cpu},
    {"cuda", Backend::cuda},
}};

std::atomic<Backend> process_default{Backend::automatic};

const std::vector<at::ScalarType>& reference_dtypes() {
  static const std::vector<at::ScalarType> dtypes{at::kDouble, at::kFloat, at::kBFloat16,
                                                  at::kHalf};
  return dtypes;
}

bool contains(const std::vector<at::ScalarType>& dtypes, at::ScalarType dtype) {
  return std::find(dtypes.begin(), dtypes.end(), dtype) != dtypes.end();
}

std::string dtype_words(const std::vector<at::ScalarType>& dtypes) {
  std::string text;
  for (const at::ScalarType dtype : dtypes) {
    if (!text.empty()) text += ", ";
    text += c10::toString(dtype);
  }
  return text;
}

std::string available_words(const OpSupport& support) {
  std::string text = fmt::format("reference ({} on the CPU), cpu ({})",
                                 dtype_words(reference_dtypes()), dtype_words(support.cpu));
  if (!support.cuda.empty()) text += fmt::format(", cuda ({})", dtype_words(support.cuda));
  return text;
}

bool usable(const OpSupport& support, Backend backend, c10::DeviceType device,
            at::ScalarType dtype) {
  switch (backend) {
    case Backend::reference:
      return device == c10::DeviceType::CPU && contains(reference_dtypes(), dtype);
    case Backend::cpu:
      return device == c10::DeviceType::CPU && contains(support.cpu, dtype);
    case Backend::cuda:
      return device == cuda::device_type() && contains(support.cuda, dtype);
    case Backend::automatic:
      break;
  }
  return false;
}

[[noreturn]] void throw_unavailable(const OpSupport& support, Backend wanted, c10::Device device,
                                    at::ScalarType dtype) {
  std::string hint = "use --backend auto";
  if (device.type() == c10::DeviceType::CUDA && wanted != Backend::reference)
    hint = "use --device cpu, or a build with CUDA ops";
  if (device.type() == c10::DeviceType::CUDA && wanted == Backend::reference)
    hint = "use --device cpu";
  if (device.type() == c10::DeviceType::CPU && wanted == Backend::cuda)
    hint =
        support.cuda.empty() ? "use --backend auto, or a build with CUDA ops" : "use --device cuda";
  if (!contains(reference_dtypes(), dtype)) hint = "use --dtype fp32";
  throw Error(
      ErrorKind::device,
      fmt::format("{} has no '{}' backend for {} tensors on {}; available: {}", support.name,
                  to_string(wanted), c10::toString(dtype), device.str(), available_words(support)),
      std::string(support.name), hint);
}

}  // namespace

Backend parse_backend(std::string_view word) {
  for (const auto& [name, backend] : kWords)
    if (name == word) return backend;
  throw Error(ErrorKind::usage, fmt::format("unknown backend '{}'", printable(word)), "--backend",
              "use auto, reference, cpu or cuda");
}

std::string_view to_string(Backend backend) {
  for (const auto& [name, value] : kWords)
    if (value == backend) return name;
  throw Error(ErrorKind::internal, "no such backend");
}

void set_default_backend(Backend backend) {
  process_default = backend;
}
Backend default_backend() {
  return process_default;
}

Backend resolve(const OpSupport& support, Backend requested, at::TensorList tensors) {
  const at::Tensor* first = nullptr;
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.defined()) continue;
    if (first == nullptr) first = &tensor;
    TTT_CHECK(tensor.device() == first->device(), device,
              fmt::format("{} got tensors on {} and on {}", support.name, first->device().str(),
                          tensor.device().str()),
              std::string(support.name), "move all tensors to one device");
  }
  TTT_CHECK(first != nullptr, internal, "no tensor to choose a backend for",
            std::string(support.name));
  const c10::Device device = first->device();
  const at::ScalarType dtype = first->scalar_type();
  Backend backend = requested == Backend::automatic ? default_backend() : requested;
  if (backend == Backend::automatic) {
    if (device.type() == c10::DeviceType::CUDA) {
      backend = Backend::cuda;
    } else {
      backend = contains(support.cpu, dtype) ? Backend::cpu : Backend::reference;
    }
  }
  if (!usable(support, backend, device.type(), dtype))
    throw_unavailable(support, backend, device, dtype);
  return backend;
}

void throw_no_cuda(std::string_view op) {
  throw Error(ErrorKind::device, fmt::format("{} has no CUDA version in this build", op),
              std::string(op), "use --device cpu, or a build with CUDA ops");
}

}  // namespace ttt::ops
