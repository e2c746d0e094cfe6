// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>
#include <vector>

namespace ttt::ops {

/// Which implementation of an op runs. `automatic` is the fast one of the tensors' device, and the
/// reference for dtypes that only the reference has (double, half on the CPU).
enum class Backend { automatic, reference, cpu, cuda };

/// Words of the --backend option: "auto", "reference", "cpu", "cuda". Throws Error(usage)
/// otherwise.
Backend parse_backend(std::string_view word);
std::string_view to_string(Backend backend);

/// The backend that ops called with Backend::automatic take, for the whole process; programs set it
/// from --backend. Initially automatic.
void set_default_backend(Backend backend);
Backend default_backend();

/// What one op can do. The reference takes double, float, half and bfloat16 on the CPU in every op.
struct OpSupport {
  std::string_view name;
  std::vector<at::ScalarType> cpu;
  std::vector<at::ScalarType> cuda;  ///< empty in a build without this op's CUDA version
};

/// The backend that runs an op on these tensors; never returns `automatic`. Undefined tensors are
/// skipped; the first defined one gives the dtype. Throws Error(device) when the combination is not
/// available, naming op, device, dtype, what is available and what to do.
Backend resolve(const OpSupport& support, Backend requested, at::TensorList tensors);

namespace cuda {
/// Where the tensors of Backend::cuda live: on CUDA devices; on the CPU in the tests that emulate
/// the kernels.
c10::DeviceType device_type();
}  // namespace cuda

/// Body of the CUDA entry points in a build without CUDA.
[[noreturn]] void throw_no_cuda(std::string_view op);

}  // namespace ttt::ops
