// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the ops' torch_library.cpp share. Together they are ttt_ops, the library that Python loads
// with torch.ops.load_library; nothing else links them.

#include "core/error.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <torch/library.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace ttt::ops::library {

/// Throws what Python shows as ValueError (usage), NotImplementedError (unsupported),
/// torch.OutOfMemoryError (memory) or RuntimeError; the text has message, place and hint.
[[noreturn]] void rethrow(const Error& error);

/// A function as a kernel of the dispatcher: records nothing, translates our errors.
template <auto function, typename = decltype(function)>
struct Kernel;
template <auto function, typename Result, typename... Arguments>
struct Kernel<function, Result (*)(Arguments...)> {
  static Result call(Arguments... arguments) {
    const at::NoGradGuard no_gradients;
    try {
      return function(std::forward<Arguments>(arguments)...);
    } catch (const Error& error) {
      rethrow(error);
    }
  }
};

/// The name in front of a schema's arguments.
std::string schema_name(std::string_view schema);

/// Defines an op. `compute` runs it on CPU and CUDA tensors; `infer` returns tensors of the same
/// sizes, strides (contiguous), dtypes and device without values, for torch.compile: its arguments'
/// sizes may be symbolic, so it looks at sym_sizes() only.
template <auto compute, auto infer>
void define(torch::Library& library, const std::string& schema) {
  const std::string name = schema_name(schema);
  library.def(schema.c_str(), {at::Tag::pt2_compliant_tag});
  for (const c10::DispatchKey key : {c10::DispatchKey::CPU, c10::DispatchKey::CUDA})
    library.impl(name.c_str(), torch::dispatch(key, TORCH_FN(Kernel<compute>::call)));
  library.impl(name.c_str(),
               torch::dispatch(c10::DispatchKey::Meta, TORCH_FN(Kernel<infer>::call)));
}

/// How an op gets its gradients.
struct Gradients {
  std::string op;
  std::string backward;  ///< the op that computes them
  /// The op to call in place of `op` when gradients are recorded: the same arguments and results,
  /// followed by results that only `backward` needs. Empty: `op` itself.
  std::string forward = {};
};

/// Registers the gradients of an op. The schema of `backward` says by its names what goes where:
/// its arguments are arguments and results of the forward op, and gradients of results ("d" and the
/// result's name); its results are gradients of arguments ("d" and the argument's name). What it
/// doesn't name isn't kept. torch.compile traces both ops.
void differentiate(torch::Library& library, const Gradients& gradients);

/// As ops::check_shape, for sizes that may be symbolic; -1 matches any size.
void check_symbolic_shape(std::string_view op, std::string_view name, const at::Tensor& tensor,
                          std::initializer_list<c10::SymInt> shape);
/// Throws Error(usage), naming tensor and shape, unless the condition holds for all sizes.
void check_symbolic(std::string_view op, std::string_view name, const at::Tensor& tensor,
                    const c10::SymBool& condition, std::string_view hint);

/// A contiguous tensor on the device of `like`, without values.
at::Tensor new_tensor(const at::Tensor& like, c10::SymIntArrayRef sizes, at::ScalarType dtype);
at::Tensor new_tensor(const at::Tensor& like, std::initializer_list<c10::SymInt> sizes,
                      at::ScalarType dtype);
/// The same with the sizes and dtype of `like`.
at::Tensor new_tensor(const at::Tensor& like);

}  // namespace ttt::ops::library
