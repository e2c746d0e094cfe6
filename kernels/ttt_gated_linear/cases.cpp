// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/registry.h"
#include "kernels/support/checks.h"
#include "kernels/ttt_gated_linear/ttt_gated_linear.h"

#include <ATen/ATen.h>

#include <optional>

namespace ttt::ops {

std::vector<OpCase> ttt_gated_linear_cases();

namespace {

struct Sizes {
  std::int64_t batch, tokens, heads, d;
};
struct Grid {
  std::int64_t height = 0, width = 0;
};

struct Variant {
  std::string note;
  double key_scale = 1;
  double value_scale = 1;
  bool sliced = true;          ///< activations are slices of a wider tensor
  bool shared_weights = true;  ///< weights [1, ...], else one set per sample
  bool transposed = false;     ///< the last dimension of the activations isn't contiguous
  Grid grid = {};              ///< of tokens that are rotated
};

std::string label(const char* call, const Sizes& s, const Variant& variant) {
  return fmt::format("{} b{} n{} heads{} d{}{}", call, s.batch, s.tokens, s.heads, s.d,
                     variant.note.empty() ? "" : " " + variant.note);
}

/// The rotation of a case, if it has one.
class Rotation {
 public:
  Rotation(const Sizes& s, const Grid& grid) {
    if (grid.width > 0) table_ = make_rope_table(grid.height, grid.width, s.heads * s.d);
  }
  /// The table beside x, or nothing.
  std::optional<RopeTable> beside(const at::Tensor& x) const {
    return table_ ? std::optional(table_->to(x.device())) : std::nullopt;
  }

 private:
  std::optional<RopeTable> table_;
};

at::Tensor activations(const char* name, const Sizes& s, const Variant& variant, double scale,
                       at::ScalarType dtype) {
  const std::int64_t channels = s.heads * s.d;
  // Converted first: .to() would make the slice contiguous.
  if (variant.transposed)
    return case_tensor(name, {s.batch, channels, s.tokens}, scale).to(dtype).transpose(1, 2);
  if (!variant.sliced) return case_tensor(name, {s.batch, s.tokens, channels}, scale).to(dtype);
  return case_tensor(name, {s.batch, s.tokens, channels + 7}, scale)
      .to(dtype)
      .narrow(2, 5, channels);
}

at::Tensor weights(const char* name, const Sizes& s, const Variant& variant, at::ScalarType dtype) {
  const std::int64_t batch = variant.shared_weights ? 1 : s.batch;
  const double scale = 1 / std::sqrt(static_cast<double>(s.d));
  return case_tensor(name, {batch, s.heads, s.d, s.d}, scale).to(accumulation_dtype(dtype));
}

OpCase step_case(const Sizes& s, const Variant& variant = {}) {
  OpCase result;
  result.name = label("step", s, variant);
  result.inputs = [=](at::ScalarType dtype) {
    return std::vector<at::Tensor>{activations("k", s, variant, variant.key_scale, dtype),
                                   activations("v", s, variant, variant.value_scale, dtype),
                                   weights("w1", s, variant, dtype),
                                   weights("w2", s, variant, dtype)};
  };
  result.run = [rotation = Rotation(s, variant.grid)](const std::vector<at::Tensor>& in,
                                                      Backend backend) {
    const auto rope = rotation.beside(in[0]);
    const InnerWeights out =
        gated_linear_step(in[0], in[1], in[2], in[3], backend, rope ? &*rope : nullptr);
    return std::vector<at::Tensor>{out.w1, out.w2};
  };
  result.rounds_inputs = variant.grid.width > 0;
  const double rows = static_cast<double>(s.batch * s.tokens * s.heads);
  const double d = static_cast<double>(s.d);
  result.flops = 8 * rows * d * d;
  result.elements = 2 * rows * d;
  return result;
}

OpCase apply_case(const Sizes& s, const Variant& variant = {}) {
  OpCase result;
  result.name = label("apply", s, variant);
  result.inputs = [=](at::ScalarType dtype) {
    return std::vector<at::Tensor>{activations("q", s, variant, variant.key_scale, dtype),
                                   weights("w1", s, variant, dtype),
                                   weights("w2", s, variant, dtype)};
  };
  result.run = [rotation = Rotation(s, variant.grid)](const std::vector<at::Tensor>& in,
                                                      Backend backend) {
    const auto rope = rotation.beside(in[0]);
    return std::vector<at::Tensor>{
        gated_linear_apply(in[0], {in[1], in[2]}, backend, rope ? &*rope : nullptr)};
  };
  result.rounds_inputs = variant.grid.width > 0;
  const double rows = static_cast<double>(s.batch * s.tokens * s.heads);
  const double d = static_cast<double>(s.d);
  result.flops = 4 * rows * d * d;
  result.elements = 2 * rows * d;
  return result;
}

/// The form that writes into a slice of a wider tensor; the rest of it must stay as it was.
OpCase apply_out_case(const Sizes& s) {
  OpCase result = apply_case(s);
  result.name = label("apply_out", s, {});
  result.differentiable = false;
  result.run = [](const std::vector<at::Tensor>& in, Backend backend) {
    const at::Tensor& q = in[0];
    const at::Tensor wide = at::ones({q.size(0), q.size(1), q.size(2) + 6}, q.options());
    gated_linear_apply_out(q, {in[1], in[2]}, wide.narrow(2, 2, q.size(2)), backend);
    return std::vector<at::Tensor>{wide};
  };
  return result;
}

/// Both calls with tokens of a grid, rotated.
void add_rotated(std::vector<OpCase>& cases) {
  struct Rotated {
    std::int64_t batch, heads, d;
    Grid grid;
  };
  // Heads that turn with the row, with the column or with both; of odd width; whole vectors and
  // not; more tokens than a task takes.
  for (const auto& [batch, heads, d, grid] : std::initializer_list<Rotated>{{2, 2, 16, {3, 4}},
                                                                            {1, 3, 20, {5, 1}},
                                                                            {1, 1, 72, {1, 9}},
                                                                            {1, 4, 3, {2, 4}},
                                                                            {1, 1, 4, {1, 1}},
                                                                            {0, 2, 8, {2, 2}},
                                                                            {1, 2, 8, {0, 3}},
                                                                            {1, 2, 32, {29, 37}}}) {
    Variant variant{.note = fmt::format("grid {}x{}", grid.height, grid.width)};
    variant.grid = grid;
    const Sizes sizes{batch, grid.height * grid.width, heads, d};
    cases.push_back(step_case(sizes, variant));
    cases.push_back(apply_case(sizes, variant));
  }
  Variant transposed{.note = "grid 2x3 transposed", .transposed = true, .grid = {2, 3}};
  cases.push_back(step_case({2, 6, 2, 12}, transposed));
  cases.push_back(apply_case({2, 6, 2, 12}, transposed));
  Variant large{.note = "grid 56x56", .grid = {56, 56}};
  for (OpCase call : {step_case({2, 3136, 2, 32}, large), apply_case({2, 3136, 2, 32}, large)}) {
    call.large = true;
    cases.push_back(call);
  }
}

}  // namespace

std::vector<OpCase> ttt_gated_linear_cases() {
  std::vector<OpCase> cases;
  for (const Sizes& s : std::initializer_list<Sizes>{{2, 12, 2, 16},
                                                     {1, 1, 3, 32},
                                                     {3, 37, 2, 64},
                                                     {1, 50, 1, 72},
                                                     {2, 5, 1, 8},
                                                     {1, 9, 2, 13},
                                                     {1, 3, 2, 1},
                                                     {0, 4, 2, 8},
                                                     {2, 0, 2, 8},
                                                     {1, 1100, 1, 16}}) {
    cases.push_back(step_case(s));
    cases.push_back(apply_case(s));
  }
  const Sizes odd{2, 11, 2, 24};
  cases.push_back(step_case(odd, {.note = "contiguous", .sliced = false}));
  cases.push_back(step_case(odd, {.note = "transposed", .transposed = true}));
  cases.push_back(apply_case(odd, {.note = "transposed", .transposed = true}));
  cases.push_back(step_case(odd, {.note = "own weights", .shared_weights = false}));
  cases.push_back(apply_case(odd, {.note = "own weights", .shared_weights = false}));
  cases.push_back(step_case(odd, {.note = "zero v", .value_scale = 0}));
  OpCase huge = step_case(odd, {.note = "huge k", .key_scale = 1e3});
  huge.differentiable = false;  // the sigmoids are steps
  cases.push_back(huge);
  cases.push_back(apply_out_case({2, 7, 3, 20}));
  for (const Sizes& s : std::initializer_list<Sizes>{
           {8, 196, 6, 32}, {1, 4096, 6, 32}, {8, 196, 6, 64}, {2, 256, 16, 72}, {2, 3136, 2, 32}})
    for (OpCase large : {step_case(s), apply_case(s)}) {
      large.large = true;
      cases.push_back(large);
    }
  add_rotated(cases);
  return cases;
}

}  // namespace ttt::ops
