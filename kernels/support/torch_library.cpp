// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/support/torch_library.h"

#include "kernels/support/checks.h"

#include <ATen/ATen.h>

#include <sstream>

namespace ttt::ops::library {
namespace {

std::string symbolic_shape_text(c10::SymIntArrayRef sizes) {
  std::ostringstream text;
  text << sizes;
  return text.str();
}

}  // namespace

void rethrow(const Error& error) {
  std::string text = error.what();
  if (!error.hint().empty()) text += "\nhint: " + error.hint();
  const std::source_location& at = error.source();
  const c10::SourceLocation place{at.function_name(), at.file_name(), at.line()};
  switch (error.kind()) {
    case ErrorKind::usage:
      throw c10::ValueError(place, text);
    case ErrorKind::unsupported:
      throw c10::NotImplementedError(place, text);
    case ErrorKind::memory:
      throw c10::OutOfMemoryError(place, text);
    default:
      throw c10::Error(place, text);
  }
}

std::string schema_name(std::string_view schema) {
  const std::size_t end = schema.find('(');
  TTT_CHECK(end != std::string_view::npos, internal, "an op's schema has no arguments",
            std::string(schema));
  return std::string(schema.substr(0, end));
}

void check_symbolic_shape(std::string_view op, std::string_view name, const at::Tensor& tensor,
                          std::initializer_list<c10::SymInt> shape) {
  const c10::SymIntArrayRef wanted(shape.begin(), shape.size());
  bool matches = tensor.dim() == static_cast<std::int64_t>(shape.size());
  for (std::size_t i = 0; matches && i < wanted.size(); ++i)
    matches = wanted[i].maybe_as_int() == -1 || tensor.sym_size(static_cast<std::int64_t>(i))
                                                    .sym_eq(wanted[i])
                                                    .expect_true(__FILE__, __LINE__);
  TTT_CHECK(matches, usage,
            fmt::format("{} is {}, but {} is needed (-1: any)", name,
                        symbolic_shape_text(tensor.sym_sizes()), symbolic_shape_text(wanted)),
            std::string(op), "pass tensors of the documented shapes");
}

void check_symbolic(std::string_view op, std::string_view name, const at::Tensor& tensor,
                    const c10::SymBool& condition, std::string_view hint) {
  TTT_CHECK(condition.expect_true(__FILE__, __LINE__), usage,
            fmt::format("{} is {}, which doesn't fit the other tensors", name,
                        symbolic_shape_text(tensor.sym_sizes())),
            std::string(op), std::string(hint));
}

at::Tensor new_tensor(const at::Tensor& like, c10::SymIntArrayRef sizes, at::ScalarType dtype) {
  return at::empty_symint(sizes, like.options().dtype(dtype));
}

at::Tensor new_tensor(const at::Tensor& like, std::initializer_list<c10::SymInt> sizes,
                      at::ScalarType dtype) {
  return new_tensor(like, c10::SymIntArrayRef(sizes.begin(), sizes.size()), dtype);
}

at::Tensor new_tensor(const at::Tensor& like) {
  return new_tensor(like, like.sym_sizes(), like.scalar_type());
}

}  // namespace ttt::ops::library
