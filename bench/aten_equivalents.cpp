// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/aten_equivalents.h"

#include <ATen/ATen.h>

#include <cmath>

namespace ttt::bench {
namespace {

using Tensors = std::vector<at::Tensor>;

/// [B, N, heads*d] -> [B, heads, N, d]
at::Tensor by_head(const at::Tensor& x, const at::Tensor& w) {
  return x.unflatten(2, {w.size(1), w.size(2)}).transpose(1, 2);
}

at::Tensor clipped(const at::Tensor& g) {
  return g / (g.norm(2, -2, true) + 1.0);
}

Tensors gated_linear_step(const Tensors& in) {
  const at::Tensor &w1 = in[2], &w2 = in[3];
  const at::Tensor k = by_head(in[0], w1), v = by_head(in[1], w1);
  const at::Tensor z1 = k.matmul(w1.to(k.dtype())), z2 = k.matmul(w2.to(k.dtype()));
  const at::Tensor s = z2.sigmoid(), a = z2 * s;
  const at::Tensor e = -v / static_cast<double>(k.size(2)) * (1.0 / 3.0);
  const at::Tensor kt = k.transpose(-2, -1);
  const at::Tensor g1 = kt.matmul(e * a);
  const at::Tensor g2 = kt.matmul(e * z1 * (s * (1.0 + z2 * (1.0 - s))));
  return {w1 - clipped(g1), w2 - clipped(g2)};
}

Tensors gated_linear_apply(const Tensors& in) {
  const at::Tensor q = by_head(in[0], in[1]);
  const at::Tensor out = q.matmul(in[1].to(q.dtype())) * at::silu(q.matmul(in[2].to(q.dtype())));
  return {out.transpose(1, 2).flatten(2)};
}

Tensors depthwise_step(const Tensors& in) {
  const at::Tensor k = in[0].permute({0, 3, 1, 2}), v = in[1].permute({0, 3, 1, 2});
  const std::int64_t batch = k.size(0), d = k.size(1), h = k.size(2), w = k.size(3);
  const at::Tensor e = -v / static_cast<double>(h * w) * (1.0 / 3.0);
  const at::Tensor padded = at::constant_pad_nd(k, {1, 1, 1, 1});
  Tensors taps;
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 3; ++j)
      taps.push_back((padded.narrow(2, i, h).narrow(3, j, w) * e).sum({2, 3}));
  const at::Tensor g = at::stack(taps, -1).view({batch * d, 1, 3, 3});
  const at::Tensor norm = g.flatten(1).norm(2, -1).view({-1, 1, 1, 1});
  return {in[2].repeat({batch, 1, 1, 1}) - g / (norm + 1.0)};
}

Tensors depthwise_apply(const Tensors& in) {
  const std::int64_t batch = in[0].size(0), h = in[0].size(1), w = in[0].size(2), d = in[0].size(3);
  const at::Tensor q = in[0].permute({0, 3, 1, 2}).reshape({1, batch * d, h, w});
  const at::Tensor weight = in[1].permute({0, 3, 1, 2}).reshape({batch * d, 1, 3, 3});
  const at::Tensor out = at::conv2d(q, weight.to(q.dtype()), {}, 1, 1, 1, batch * d);
  return {out.view({batch, d, h * w}).transpose(1, 2)};
}

/// The rotation as a product of complex numbers; the table comes from the case's own sizes.
Tensors rope(const Tensors& in) {
  const std::int64_t batch = in[0].size(0), tokens = in[0].size(1), channels = in[0].size(2);
  const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(tokens))));
  static at::Tensor rotations;
  if (!rotations.defined() || rotations.size(0) != side || rotations.size(2) != channels / 2 ||
      rotations.device() != in[0].device())
    rotations =
        at::polar(at::ones({side, side, channels / 2}), at::rand({side, side, channels / 2}))
            .to(in[0].device());
  const at::Tensor x =
      in[0].to(at::kFloat).reshape({batch, side, side, channels / 2, 2}).contiguous();
  return {at::view_as_real(at::view_as_complex(x) * rotations).flatten(3).to(in[0].dtype())};
}

Tensors conv(std::string_view name, const Tensors& in) {
  const auto has = [&](std::string_view word) { return name.find(word) != std::string_view::npos; };
  const at::Tensor x = in[0].permute({0, 3, 1, 2});
  const at::ScalarType dtype = x.scalar_type();
  at::Tensor y =
      at::conv2d(x, in[1].to(dtype), in[2].to(dtype), has("stride2") ? 2 : 1, 1, 1, x.size(1));
  if (has(" add")) y = x + y;
  if (has(" gelu")) y = at::gelu(y);
  if (has(" relu")) y = at::relu(y);
  return {y.permute({0, 2, 3, 1})};
}

Tensors swiglu_apply(const Tensors& in) {
  const at::Tensor x = by_head(in[0], in[1]);
  const auto times = [](const at::Tensor& a, const at::Tensor& w) {
    return a.matmul(w.to(a.dtype()));
  };
  const at::Tensor out = times(at::silu(times(x, in[1])) * times(x, in[3]), in[2]);
  return {out.transpose(1, 2).flatten(2)};
}

/// k, v, rates [B, N, 3, heads], w0, w1, w2, as lact_nvs computes it: factors of one dtype, sums in
/// that dtype.
Tensors swiglu_gradient(const Tensors& in) {
  const at::ScalarType dtype = in[0].scalar_type();
  const at::Tensor k = by_head(in[0], in[3]), v = by_head(in[1], in[3]);
  const at::Tensor w0 = in[3].to(dtype), w1 = in[4].to(dtype), w2 = in[5].to(dtype);
  const at::Tensor rates =
      in[2].to(dtype).permute({2, 0, 3, 1}).unsqueeze(-1);  // [3, B, heads, N, 1]
  const at::Tensor a = k.matmul(w0), c = k.matmul(w2);
  const at::Tensor s = a.sigmoid(), u = a * s;
  const at::Tensor r = v.matmul(w1.transpose(-2, -1));
  const at::Tensor ra = r * c * (s * (1.0 + a * (1.0 - s)));
  const auto sum = [](const at::Tensor& x, const at::Tensor& y) {
    return x.transpose(-2, -1).matmul(y);
  };
  return {sum(k * rates[0], ra), sum(u * c * rates[1], v), sum(k * rates[2], r * u)};
}

/// What the iteration's coefficients are doesn't change its time.
Tensors newton_schulz(std::string_view name, const Tensors& in) {
  const bool none = name.find(" 0 steps") != std::string_view::npos;
  const bool tall = in[0].size(-2) > in[0].size(-1);
  at::Tensor x = tall ? in[0].transpose(-2, -1) : in[0];
  x = x / (x.norm(2, {-2, -1}, true) + 1e-7);
  for (int i = 0; i < (none ? 0 : 5); ++i) {
    const at::Tensor a = x.matmul(x.transpose(-2, -1));
    x = 3.4445 * x + (-4.7750 * a + 2.0315 * a.matmul(a)).matmul(x);
  }
  return {tall ? x.transpose(-2, -1) : x};
}

Tensors fast_weight_update(const Tensors& in) {
  const at::Tensor sum = in[0] + in[1];
  return {sum / (sum.norm(2, -2, true) + 1e-5) * in[2]};
}

}  // namespace

std::function<Tensors(const Tensors&)> aten_equivalent(std::string_view op,
                                                       std::string_view case_name) {
  if (op == "ttt_gated_linear")
    return case_name.starts_with("step") ? gated_linear_step : gated_linear_apply;
  if (op == "ttt_depthwise")
    return case_name.starts_with("step") ? depthwise_step : depthwise_apply;
  if (op == "rope_2d") return rope;
  if (op == "depthwise_conv3x3")
    return [name = std::string(case_name)](const Tensors& in) { return conv(name, in); };
  if (op == "swiglu_fast_weights")
    return case_name.starts_with("apply") ? swiglu_apply : swiglu_gradient;
  if (op == "newton_schulz")
    return [name = std::string(case_name)](const Tensors& in) { return newton_schulz(name, in); };
  if (op == "fast_weight_update") return fast_weight_update;
  return {};
}

}  // namespace ttt::bench
