// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/registry.h"

#include "core/seed.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>

// One line per op.
#define TTT_FOR_EACH_OP(X) \
  X(depthwise_conv3x3)     \
  X(fast_weight_update)    \
  X(linear)                \
  X(newton_schulz)         \
  X(rope_2d)               \
  X(swiglu_fast_weights)   \
  X(ttt_depthwise)         \
  X(ttt_gated_linear)

namespace ttt::ops {

#define TTT_DECLARE_OP(op)         \
  const OpSupport& op##_support(); \
  std::vector<OpCase> op##_cases();
TTT_FOR_EACH_OP(TTT_DECLARE_OP)
#undef TTT_DECLARE_OP

const std::vector<Op>& registry() {
#define TTT_OP_ENTRY(op) {#op, op##_support, op##_cases},
  static const std::vector<Op> ops{TTT_FOR_EACH_OP(TTT_OP_ENTRY)};
#undef TTT_OP_ENTRY
  return ops;
}

at::Tensor case_tensor(std::string_view name, at::IntArrayRef shape, double scale) {
  const at::Generator generator = at::detail::createCPUGenerator(derive_seed(0, name));
  return at::randn(shape, generator, at::TensorOptions().dtype(at::kDouble)).mul_(scale);
}

at::Tensor case_on_device(const at::Tensor& tensor, c10::Device device) {
  const at::Storage& storage = tensor.storage();
  const auto elements = static_cast<std::int64_t>(storage.nbytes() / tensor.element_size());
  const at::Tensor all = at::empty({0}, tensor.options()).set_(storage, 0, {elements}, {1});
  return all.to(device, tensor.scalar_type(), false, true)
      .as_strided(tensor.sizes(), tensor.strides(), tensor.storage_offset());
}

}  // namespace ttt::ops
