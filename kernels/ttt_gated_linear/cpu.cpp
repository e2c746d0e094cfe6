// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/rope_2d/cpu_factors.h"
#include "kernels/support/cpu_isa.h"
#include "kernels/support/scratch.h"
#include "kernels/ttt_gated_linear/backends.h"
#include "kernels/ttt_gated_linear/cpu_kernel.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <initializer_list>
#include <optional>

namespace ttt::ops::cpu {
namespace {

// Tokens whose products are formed before they are summed: the tile of a head stays in the
// first-level cache together with the packed weights.
constexpr std::int64_t kTile = 32;
// Tokens of one task. Fixed, so that results don't depend on the number of threads.
constexpr std::int64_t kChunk = 512;
// A thread is worth waking for this many multiply-adds.
constexpr std::int64_t kWorkPerThread = 1 << 16;

const GatedLinearKernels& kernels() {
  return select_kernels(baseline::gated_linear_kernels, avx2::gated_linear_kernels,
                        avx512::gated_linear_kernels);
}

/// Sizes of a call and the way it is cut into tasks: (sample, head, chunk of tokens).
struct Plan {
  Plan(const at::Tensor& x, const at::Tensor& w)
      : kernel(kernels()),
        batch(x.size(0)),
        tokens(x.size(1)),
        heads(w.size(1)),
        d(w.size(2)),
        padded((d + kernel.lanes - 1) / kernel.lanes * kernel.lanes),
        pair(2 * padded),
        packed_size(d * pair),
        transposed_size(pair * padded),
        chunks((tokens + kChunk - 1) / kChunk) {}

  const GatedLinearKernels& kernel;
  std::int64_t batch, tokens, heads, d;
  std::int64_t padded;           ///< d rounded up to whole vectors
  std::int64_t pair;             ///< columns of a packed pair
  std::int64_t packed_size;      ///< floats of a packed pair of matrices
  std::int64_t transposed_size;  ///< floats of its transpose
  std::int64_t chunks;           ///< tasks per head

  struct Task {
    std::int64_t index, b, head, begin, end;
  };
  Task task(std::int64_t index) const {
    const std::int64_t matrix = index / chunks, begin = index % chunks * kChunk;
    return {index, matrix / heads, matrix % heads, begin, std::min(begin + kChunk, tokens)};
  }

  /// body(task) over all tasks, `work` multiply-adds per token.
  template <typename Body>
  void for_each_task(std::int64_t work, const Body& body) const {
    const std::int64_t per_task = std::max<std::int64_t>(1, work * std::min(tokens, kChunk));
    at::parallel_for(0, batch * heads * chunks, 1 + kWorkPerThread / per_task,
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t i = begin; i < end; ++i) body(task(i));
                     });
  }
  /// body(sample, head, index) over all matrices.
  template <typename Body>
  void for_each_matrix(const Body& body) const {
    const std::int64_t per_matrix = std::max<std::int64_t>(1, packed_size);
    at::parallel_for(0, batch * heads, 1 + kWorkPerThread / per_matrix,
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t i = begin; i < end; ++i) body(i / heads, i % heads, i);
                     });
  }
};

/// Activations [B, N, heads*d] as rows of a head, in their own dtype. With a table they are rotated
/// while they are read, and gradients turned back while they are written.
class Rows {
 public:
  Rows(const at::Tensor& x, std::int64_t d, const RopeTable* rope = nullptr, bool inverse = false)
      : data_(static_cast<char*>(x.data_ptr())),
        batch_stride_(x.stride(0)),
        stride_(x.stride(1)),
        d_(d),
        element_(static_cast<std::int64_t>(x.element_size())),
        bf16_(x.scalar_type() == at::kBFloat16) {
    if (rope != nullptr) factors_.emplace(*rope, inverse);
  }

  TokenRows rows(std::int64_t b, std::int64_t head, std::int64_t n) const {
    return {data_ + (b * batch_stride_ + n * stride_ + head * d_) * element_, stride_, bf16_};
  }
  ConstTokenRows const_rows(std::int64_t b, std::int64_t head, std::int64_t n) const {
    const TokenRows r = rows(b, head, n);
    return {r.data, r.stride, r.bf16};
  }
  bool rotates() const { return factors_.has_value(); }
  /// The angles of a head's tokens from n on.
  HeadRotation rotation(std::int64_t head, std::int64_t n) const {
    return {factors_->angles(), head * d_, n};
  }

  /// Asks for rows that are used soon: those of a head lie too far apart for the processor to
  /// foresee them.
  void prefetch(std::int64_t b, std::int64_t head, std::int64_t n, std::int64_t count) const {
    constexpr std::int64_t kLine = 64;
    const auto* row = static_cast<const char*>(rows(b, head, n).data);
    for (std::int64_t i = 0; i < count; ++i, row += stride_ * element_)
      for (std::int64_t byte = 0; byte < d_ * element_; byte += kLine)
        __builtin_prefetch(row + byte);
  }

 private:
  char* data_;
  std::int64_t batch_stride_, stride_, d_, element_;
  bool bf16_;
  std::optional<RopeFactors> factors_;
};

/// Calls body(first token, count) for the tiles of a task, while the rows of the next one come.
template <typename Body>
void for_each_tile(const Plan::Task& task, std::initializer_list<const Rows*> used,
                   const Body& body) {
  const auto size = [&](std::int64_t n) { return std::min(kTile, task.end - n); };
  for (std::int64_t n = task.begin; n < task.end; n += kTile) {
    const std::int64_t next = n + kTile;
    if (next < task.end)
      for (const Rows* rows : used) rows->prefetch(task.b, task.head, next, size(next));
    body(n, size(n));
  }
}

/// `count` <= kTile tokens as floats: in place, or as a copy in `buffer` (kTile * d floats), which
/// bfloat16 and rotation need, and tokens whose results take their place.
TokenTile float_tile(const Plan& plan, const Rows& x, const Plan::Task& task, std::int64_t n,
                     std::int64_t count, float* buffer, bool copies = false) {
  const ConstTokenRows rows = x.const_rows(task.b, task.head, n);
  const TokenTile copy{buffer, plan.d, count, plan.d};
  if (x.rotates()) {
    plan.kernel.read_rotated({rows, count, plan.d}, x.rotation(task.head, n), buffer);
    return copy;
  }
  if (rows.bf16) {
    plan.kernel.widen(rows, count, plan.d, buffer);
    return copy;
  }
  const auto* data = static_cast<const float*>(rows.data);
  if (!copies) return {data, rows.stride, count, plan.d};
  plan.kernel.write(data, rows.stride, count, plan.d, {buffer, plan.d, false});
  return copy;
}

/// Writes the gradients of `count` tokens, [count, padded].
void write_gradients(const Plan& plan, const Rows& to, const Plan::Task& task, std::int64_t n,
                     std::int64_t count, const float* gradients) {
  const TokenRows rows = to.rows(task.b, task.head, n);
  if (to.rotates()) {
    plan.kernel.write_rotated({gradients, plan.padded, count, plan.d}, to.rotation(task.head, n),
                              rows);
  } else {
    plan.kernel.write(gradients, plan.padded, count, plan.d, rows);
  }
}

/// A matrix of contiguous-per-matrix weights [B, heads, d, d] whose batch stride may be 0.
float* matrix(const at::Tensor& w, std::int64_t b, std::int64_t head) {
  return w.data_ptr<float>() + b * w.stride(0) + head * w.stride(1);
}

void pack(const Plan& plan, const at::Tensor& a, const at::Tensor& b, const Plan::Task& task,
          float* packed) {
  plan.kernel.pack(matrix(a, task.b, task.head), matrix(b, task.b, task.head), plan.d, packed);
}
void pack_transposed(const Plan& plan, const at::Tensor& a, const at::Tensor& b,
                     const Plan::Task& task, float* packed) {
  plan.kernel.pack_transposed(matrix(a, task.b, task.head), matrix(b, task.b, task.head), plan.d,
                              packed);
}

at::Tensor new_matrices(const Plan& plan, const at::Tensor& like) {
  return at::empty({plan.batch, plan.heads, plan.d, plan.d}, like.options());
}

/// Sums of a packed pair per task, added up per head into the first task's place.
class PartialSums {
 public:
  explicit PartialSums(const Plan& plan)
      : plan_(plan),
        buffer_(at::empty({plan.batch * plan.heads * plan.chunks, plan.packed_size}, at::kFloat)) {}
  /// The zeroed sums of a task.
  float* start(std::int64_t task) {
    float* sums = buffer_.data_ptr<float>() + task * plan_.packed_size;
    std::fill_n(sums, plan_.packed_size, 0.0F);
    return sums;
  }
  /// The total of a head; to be called once, after all tasks.
  const float* total(std::int64_t matrix) {
    float* sums = buffer_.data_ptr<float>() + matrix * plan_.chunks * plan_.packed_size;
    for (std::int64_t chunk = 1; chunk < plan_.chunks; ++chunk) {
      const float* part = sums + chunk * plan_.packed_size;
      for (std::int64_t i = 0; i < plan_.packed_size; ++i) sums[i] += part[i];
    }
    return sums;
  }

 private:
  const Plan& plan_;
  at::Tensor buffer_;
};

float slope(const Plan& plan) {
  return plan.tokens > 0 ? static_cast<float>(-1.0 / (3.0 * static_cast<double>(plan.tokens))) : 0;
}

}  // namespace

GatedLinearStep gated_linear_step(const at::Tensor& k, const at::Tensor& v, const at::Tensor& w1,
                                  const at::Tensor& w2, const RopeTable* rope) {
  const Plan plan(k, w1);
  if (plan.tokens == 0)
    return {w1.clone(at::MemoryFormat::Contiguous), w2.clone(at::MemoryFormat::Contiguous),
            at::zeros_like(w1, at::MemoryFormat::Contiguous),
            at::zeros_like(w2, at::MemoryFormat::Contiguous)};
  const Rows keys(k, plan.d, rope), values(v, plan.d);
  PartialSums sums(plan);
  plan.for_each_task(4 * plan.d * plan.d, [&](const Plan::Task& task) {
    float* packed = thread_scratch(plan.packed_size + kTile * (plan.pair + plan.d));
    float* products = packed + plan.packed_size;
    float* converted = products + kTile * plan.pair;
    float* sum = sums.start(task.index);
    pack(plan, w1, w2, task, packed);
    for_each_tile(task, {&keys, &values}, [&](std::int64_t n, std::int64_t count) {
      const TokenTile tile = float_tile(plan, keys, task, n, count, converted);
      plan.kernel.step_products(tile, packed, values.const_rows(task.b, task.head, n), products);
      plan.kernel.accumulate(tile, products, sum);
    });
  });
  GatedLinearStep step{new_matrices(plan, w1), new_matrices(plan, w1), new_matrices(plan, w1),
                       new_matrices(plan, w1)};
  plan.for_each_matrix([&](std::int64_t b, std::int64_t head, std::int64_t index) {
    float* packed = thread_scratch(plan.packed_size);
    plan.kernel.pack(matrix(w1, b, head), matrix(w2, b, head), plan.d, packed);
    plan.kernel.finish({packed, sums.total(index), slope(plan), plan.d, matrix(step.w1, b, head),
                        matrix(step.w2, b, head), matrix(step.g1, b, head),
                        matrix(step.g2, b, head)});
  });
  return step;
}

GatedLinearStepGradients gated_linear_step_backward(const GatedLinearStepSaved& saved,
                                                    const at::Tensor& dout1,
                                                    const at::Tensor& dout2) {
  const Plan plan(saved.k, saved.w1);
  const at::Tensor dk = at::empty(saved.k.sizes(), saved.k.options());
  const at::Tensor dv = at::empty(saved.v.sizes(), saved.v.options());
  const at::Tensor dg1 = new_matrices(plan, dout1), dg2 = new_matrices(plan, dout1);
  plan.for_each_matrix([&](std::int64_t b, std::int64_t head, std::int64_t) {
    plan.kernel.clip_backward(
        {matrix(saved.g1, b, head), matrix(dout1, b, head), plan.d, matrix(dg1, b, head)});
    plan.kernel.clip_backward(
        {matrix(saved.g2, b, head), matrix(dout2, b, head), plan.d, matrix(dg2, b, head)});
  });
  const Rows keys(saved.k, plan.d, saved.rope), dkeys(dk, plan.d, saved.rope, true);
  const Rows values(saved.v, plan.d), dvalues(dv, plan.d);
  PartialSums sums(plan);
  plan.for_each_task(16 * plan.d * plan.d, [&](const Plan::Task& task) {
    float* weights = thread_scratch(2 * plan.packed_size + 2 * plan.transposed_size +
                                    kTile * (3 * plan.pair + plan.padded + plan.d));
    float* gradients = weights + plan.packed_size;
    float* weights_back = gradients + plan.packed_size;
    float* gradients_back = weights_back + plan.transposed_size;
    float* z = gradients_back + plan.transposed_size;
    float* dp = z + kTile * plan.pair;
    float* dz = dp + kTile * plan.pair;
    float* dkey = dz + kTile * plan.pair;
    float* converted = dkey + kTile * plan.padded;
    float* sum = sums.start(task.index);
    pack(plan, saved.w1, saved.w2, task, weights);
    pack(plan, dg1, dg2, task, gradients);
    pack_transposed(plan, saved.w1, saved.w2, task, weights_back);
    pack_transposed(plan, dg1, dg2, task, gradients_back);
    const auto used = {&keys, &values, &dkeys, &dvalues};
    for_each_tile(task, used, [&](std::int64_t n, std::int64_t count) {
      const TokenTile tile = float_tile(plan, keys, task, n, count, converted);
      plan.kernel.project(tile, weights, z);
      plan.kernel.project(tile, gradients, dp);
      plan.kernel.step_backward({count, plan.d, slope(plan), z, dp, dz},
                                values.const_rows(task.b, task.head, n),
                                dvalues.rows(task.b, task.head, n));
      plan.kernel.project_back(dp, gradients_back, count, plan.d, false, dkey);
      plan.kernel.project_back(dz, weights_back, count, plan.d, true, dkey);
      write_gradients(plan, dkeys, task, n, count, dkey);
      plan.kernel.accumulate(tile, dz, sum);
    });
  });
  const at::Tensor dw1 = new_matrices(plan, dout1), dw2 = new_matrices(plan, dout1);
  if (plan.tokens > 0)
    plan.for_each_matrix([&](std::int64_t b, std::int64_t head, std::int64_t index) {
      plan.kernel.unpack(sums.total(index), plan.d, matrix(dw1, b, head), matrix(dw2, b, head));
    });
  if (plan.tokens == 0) return {dk, dv, dout1.clone(), dout2.clone()};
  return {dk, dv, dw1.add_(dout1), dw2.add_(dout2)};
}

void gated_linear_apply(const at::Tensor& q, const at::Tensor& w1, const at::Tensor& w2,
                        const RopeTable* rope, const at::Tensor& out) {
  const Plan plan(q, w1);
  const Rows queries(q, plan.d, rope), results(out, plan.d);
  const bool in_place = out.is_alias_of(q);
  plan.for_each_task(2 * plan.d * plan.d, [&](const Plan::Task& task) {
    float* packed = thread_scratch(plan.packed_size + kTile * plan.d);
    pack(plan, w1, w2, task, packed);
    for_each_tile(task, {&queries, &results}, [&](std::int64_t n, std::int64_t count) {
      plan.kernel.apply(
          float_tile(plan, queries, task, n, count, packed + plan.packed_size, in_place), packed,
          results.rows(task.b, task.head, n));
    });
  });
}

GatedLinearApplyGradients gated_linear_apply_backward(const at::Tensor& q, const at::Tensor& w1,
                                                      const at::Tensor& w2, const at::Tensor& dout,
                                                      const RopeTable* rope) {
  const Plan plan(q, w1);
  const at::Tensor dq = at::empty(q.sizes(), q.options());
  const Rows queries(q, plan.d, rope), dqueries(dq, plan.d, rope, true);
  const Rows gradients(dout, plan.d);
  PartialSums sums(plan);
  plan.for_each_task(6 * plan.d * plan.d, [&](const Plan::Task& task) {
    float* packed = thread_scratch(plan.packed_size + plan.transposed_size +
                                   kTile * (plan.pair + plan.padded + plan.d));
    float* back = packed + plan.packed_size;
    float* y = back + plan.transposed_size;
    float* dquery = y + kTile * plan.pair;
    float* converted = dquery + kTile * plan.padded;
    float* sum = sums.start(task.index);
    pack(plan, w1, w2, task, packed);
    pack_transposed(plan, w1, w2, task, back);
    const auto used = {&queries, &gradients, &dqueries};
    for_each_tile(task, used, [&](std::int64_t n, std::int64_t count) {
      const TokenTile tile = float_tile(plan, queries, task, n, count, converted);
      plan.kernel.project(tile, packed, y);
      plan.kernel.apply_backward(count, plan.d, gradients.const_rows(task.b, task.head, n), y);
      plan.kernel.project_back(y, back, count, plan.d, false, dquery);
      write_gradients(plan, dqueries, task, n, count, dquery);
      plan.kernel.accumulate(tile, y, sum);
    });
  });
  const at::Tensor dw1 = new_matrices(plan, w1), dw2 = new_matrices(plan, w1);
  if (plan.tokens == 0) return {dq, dw1.zero_(), dw2.zero_()};
  plan.for_each_matrix([&](std::int64_t b, std::int64_t head, std::int64_t index) {
    plan.kernel.unpack(sums.total(index), plan.d, matrix(dw1, b, head), matrix(dw2, b, head));
  });
  return {dq, dw1, dw2};
}

}  // namespace ttt::ops::cpu
