// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/vision/training/composition.h"

#include <torch/torch.h>

#include <cmath>

namespace ttt::test {
namespace {

/// Parameters by name, below a prefix.
class Weights {
 public:
  Weights(const torch::nn::Module& module, std::string prefix)
      : parameters_(module.named_parameters()), prefix_(std::move(prefix)) {}

  at::Tensor operator()(const std::string& name) const { return parameters_[prefix_ + name]; }
  bool has(const std::string& name) const { return parameters_.contains(prefix_ + name); }
  Weights below(const std::string& part) const {
    Weights result = *this;
    result.prefix_ += part + ".";
    return result;
  }

 private:
  torch::OrderedDict<std::string, at::Tensor> parameters_;
  std::string prefix_;
};

struct Size {
  std::int64_t h, w;
};

at::Tensor linear(const Weights& p, const std::string& name, const at::Tensor& x) {
  return x.matmul(p(name + ".weight").t()) + p(name + ".bias");
}

at::Tensor layer_norm(const Weights& p, const std::string& name, const at::Tensor& x, double eps) {
  const at::Tensor centred = x - x.mean(-1, true);
  const at::Tensor variance = centred.square().mean(-1, true);
  return centred / (variance + eps).sqrt() * p(name + ".weight") + p(name + ".bias");
}

at::Tensor batch_norm(const Weights& p, const std::string& name, const at::Tensor& x) {
  at::Tensor columns = x.transpose(0, 1).flatten(1);  // [C, everything else]
  columns = columns - columns.mean(1, true);
  columns = columns / (columns.square().mean(1, true) + 1e-5).sqrt();
  columns = columns * p(name + ".weight").unsqueeze(1) + p(name + ".bias").unsqueeze(1);
  std::vector<std::int64_t> shape{x.size(1), x.size(0)};
  for (std::int64_t i = 2; i < x.dim(); ++i) shape.push_back(x.size(i));
  return columns.view(shape).transpose(0, 1);
}

/// Depthwise 3x3 on tokens, as a sum over shifted copies.
at::Tensor depthwise(const at::Tensor& tokens, Size size, const at::Tensor& kernels,
                     const at::Tensor& bias) {
  const std::int64_t batch = tokens.size(0), channels = tokens.size(2);
  const at::Tensor padded = at::constant_pad_nd(
      tokens.transpose(1, 2).reshape({batch, channels, size.h, size.w}), {1, 1, 1, 1});
  at::Tensor sum = at::zeros_like(padded.slice(2, 1, size.h + 1).slice(3, 1, size.w + 1));
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 3; ++j) {
      const at::Tensor tap = kernels.select(-2, i).select(-1, j);  // [..., C]
      sum = sum + padded.slice(2, i, i + size.h).slice(3, j, j + size.w) *
                      tap.unsqueeze(-1).unsqueeze(-1);
    }
  if (bias.defined()) sum = sum + bias.view({1, channels, 1, 1});
  return sum.flatten(2).transpose(1, 2);
}

at::Tensor clipped(const at::Tensor& gradient, at::IntArrayRef axes) {
  return gradient / (gradient.square().sum(axes, true).sqrt() + 1);
}

at::Tensor rope(const at::Tensor& x, Size size) {
  const std::int64_t quarter = x.size(2) / 4;
  const auto options = at::TensorOptions(at::kFloat);
  const at::Tensor theta = 1.0F / at::pow(10000.0F, at::arange(quarter, options) / quarter);
  const at::Tensor y = at::arange(size.h, options).repeat_interleave(size.w);
  const at::Tensor column = at::arange(size.w, options).repeat({size.h});
  const at::Tensor angle =
      at::cat({y.unsqueeze(1) * theta, column.unsqueeze(1) * theta}, 1);  // [N, C/2]
  const at::Tensor cosine = angle.cos().to(x.scalar_type());
  const at::Tensor sine = angle.sin().to(x.scalar_type());
  const at::Tensor a = x.slice(2, 0, std::nullopt, 2), b = x.slice(2, 1, std::nullopt, 2);
  return at::stack({a * cosine - b * sine, a * sine + b * cosine}, -1).flatten(2);
}

at::Tensor ttt_block(const Weights& p, const at::Tensor& x, Size size, bool with_rope) {
  const std::int64_t batch = x.size(0), tokens = x.size(1), dim = x.size(2);
  const at::Tensor w1 = p("w1"), w2 = p("w2"), w3 = p("w3");
  const std::int64_t heads = w1.size(1), d = dim / heads;
  const auto parts = linear(p, "qkv", x).split_with_sizes({dim, dim, dim, d, d, d}, 2);
  const auto by_head = [&](const at::Tensor& t) {
    return t.reshape({batch, tokens, heads, d}).transpose(1, 2);
  };
  const at::Tensor q = by_head(with_rope ? rope(parts[0], size) : parts[0]);
  const at::Tensor k = by_head(with_rope ? rope(parts[1], size) : parts[1]);
  const at::Tensor v = by_head(parts[2]);
  const at::Tensor z1 = k.matmul(w1), z2 = k.matmul(w2);
  const at::Tensor s = z2.sigmoid();
  const at::Tensor e = -v / static_cast<double>(tokens) / 3.0;
  const at::Tensor kt = k.transpose(2, 3);
  const at::Tensor g1 = kt.matmul(e * z2 * s);
  const at::Tensor g2 = kt.matmul(e * z1 * s * (1 + z2 * (1 - s)));
  const at::Tensor y1 = q.matmul(w1 - clipped(g1, {-2})), y2 = q.matmul(w2 - clipped(g2, {-2}));
  const at::Tensor x1 = (y1 * y2 * y2.sigmoid()).transpose(1, 2).reshape({batch, tokens, dim});

  const auto map = [&](const at::Tensor& t) {
    return t.transpose(1, 2).reshape({batch, d, size.h, size.w});
  };
  const at::Tensor keys = at::constant_pad_nd(map(parts[4]), {1, 1, 1, 1});
  const at::Tensor e3 = -map(parts[5]) / static_cast<double>(tokens) / 3.0;
  std::vector<at::Tensor> rows;
  for (std::int64_t i = 0; i < 3; ++i) {
    std::vector<at::Tensor> row;
    for (std::int64_t j = 0; j < 3; ++j)
      row.push_back((keys.slice(2, i, i + size.h).slice(3, j, j + size.w) * e3).sum({2, 3}));
    rows.push_back(at::stack(row, -1));
  }
  const at::Tensor g3 = at::stack(rows, -2);  // [B,d,3,3]
  const at::Tensor kernels = w3.squeeze(1).unsqueeze(0) - clipped(g3, {2, 3});
  const at::Tensor x2 = depthwise(parts[3], size, kernels, {});
  return linear(p, "proj", at::cat({x1, x2}, 2));
}

at::Tensor convolution(const Weights& p, const std::string& name, const at::Tensor& x,
                       std::int64_t stride, std::int64_t padding, std::int64_t groups = 1) {
  const Weights below = p.below(name);
  const at::Tensor bias = below.has("conv.bias") ? below("conv.bias") : at::Tensor();
  at::Tensor y = at::conv2d(x, below("conv.weight"), bias, stride, padding, 1, groups);
  return below.has("norm.weight") ? batch_norm(below, "norm", y) : y;
}

at::Tensor block_input(const Weights& p, const at::Tensor& x, Size size) {
  return x + depthwise(x, size, p("cpe.weight").squeeze(1), p("cpe.bias"));
}

}  // namespace

at::Tensor composed_vit3(const vision::Vit3Config& config, const torch::nn::Module& model,
                         const at::Tensor& images) {
  const Weights weights(model, "");
  const Size size{images.size(2) / config.patch, images.size(3) / config.patch};
  at::Tensor x = at::conv2d(images, weights("patch_embed.proj.weight"),
                            weights("patch_embed.proj.bias"), config.patch)
                     .flatten(2)
                     .transpose(1, 2);
  for (std::int64_t i = 0; i < config.depth; ++i) {
    const Weights p = weights.below("blocks." + std::to_string(i));
    x = block_input(p, x, size);
    x = x + ttt_block(p.below("attn"), layer_norm(p, "norm1", x, 1e-6), size, false);
    x = x + linear(p, "mlp.fc2", at::gelu(linear(p, "mlp.fc1", layer_norm(p, "norm2", x, 1e-6))));
  }
  return linear(weights, "head", layer_norm(weights, "norm", x, 1e-6).mean(1));
}

at::Tensor composed_hvit3(const vision::HVit3Config& config, const torch::nn::Module& model,
                          const at::Tensor& images) {
  const Weights weights(model, "");
  const Weights stem = weights.below("patch_embed.conv");
  at::Tensor map = at::relu(convolution(stem, "0", images, 2, 1));
  map = at::relu(convolution(stem, "1", map, 1, 1));
  map = at::relu(convolution(stem, "2", map, 1, 1));
  map = at::relu(convolution(stem, "3", map, 2, 1));
  map = convolution(stem, "4", map, 1, 0);
  at::Tensor x;
  for (std::size_t stage = 0; stage < vision::kStages; ++stage) {
    const Size size{map.size(2), map.size(3)};
    const Weights layer = weights.below("layers." + std::to_string(stage));
    x = map.flatten(2).transpose(1, 2);
    for (std::int64_t j = 0; j < config.depths[stage]; ++j) {
      const Weights p = layer.below("blocks." + std::to_string(j));
      x = block_input(p, x, size);
      x = x + ttt_block(p.below("attn"), layer_norm(p, "norm1", x, 1e-5), size, true);
      at::Tensor u = at::gelu(linear(p, "mlp.fc1", layer_norm(p, "norm2", x, 1e-5)));
      u = at::gelu(u + depthwise(u, size, p("mlp.dwc.weight").squeeze(1), p("mlp.dwc.bias")));
      x = x + linear(p, "mlp.fc2", u);
    }
    if (stage + 1 == vision::kStages) break;
    map = x.transpose(1, 2).reshape({x.size(0), x.size(2), size.h, size.w});
    const Weights merge = layer.below("downsample.conv");
    map = at::relu(convolution(merge, "0", map, 1, 0));
    map = at::relu(convolution(merge, "1", map, 2, 1, map.size(1)));
    map = convolution(merge, "2", map, 1, 0);
  }
  x = batch_norm(weights, "norm", x.transpose(1, 2)).mean(2);
  return linear(weights, "head", x);
}

}  // namespace ttt::test
