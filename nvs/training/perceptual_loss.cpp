// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/training/perceptual_loss.h"

#include "core/error.h"

#include <spdlog/fmt/fmt.h>
#include <torch/torch.h>

#include <algorithm>

namespace ttt::nvs {
namespace {

constexpr int kLevels = 5;
constexpr std::int64_t kSmallest = 16;
/// Pixels whose features are in memory at once, 1.5 kB each.
constexpr std::int64_t kTilePixels = 1 << 16;
constexpr std::int64_t kFloatBytes = 4;
constexpr double kUnitEpsilon = 1e-10;
constexpr const char* kHint =
    "give torchvision's vgg16 and LPIPS's vgg.pth (weights/v0.1), or one file with both";

/// A convolution of VGG16 and where it stands: the slice of LPIPS, the layer's number in
/// torchvision.
struct Place {
  int slice, index;
  std::int64_t in, out;
};
constexpr std::array<Place, 13> kPlaces{{{1, 0, 3, 64},
                                         {1, 2, 64, 64},
                                         {2, 5, 64, 128},
                                         {2, 7, 128, 128},
                                         {3, 10, 128, 256},
                                         {3, 12, 256, 256},
                                         {3, 14, 256, 256},
                                         {4, 17, 256, 512},
                                         {4, 19, 512, 512},
                                         {4, 21, 512, 512},
                                         {5, 24, 512, 512},
                                         {5, 26, 512, 512},
                                         {5, 28, 512, 512}}};
constexpr std::array<std::int64_t, kLevels> kChannels{64, 128, 256, 512, 512};

/// Vectors over the channels to length 1, at least in float. The norm's gradient is 0 where no
/// channel is active; that of a square root would not be finite.
at::Tensor unit(const at::Tensor& features) {
  const at::Tensor x = features.to(at::promote_types(features.scalar_type(), at::kFloat));
  return x / (at::linalg_vector_norm(x, 2, at::IntArrayRef{1}, true) + kUnitEpsilon);
}

}  // namespace

/// What one file holds.
struct PerceptualLoss::Names {
  bool trunk = false, top = false;
  bool torchvision = false;

  explicit Names(const WeightFile& file) {
    bool slices = false;
    for (const TensorInfo& info : file.tensors()) {
      slices |= info.name.starts_with("net.slice");
      torchvision |= info.name.starts_with("features.");
      top |= matches_any(info.name, {"lin?.model.*"});
    }
    torchvision &= !slices;
    trunk = slices || torchvision;
  }

  std::string of(const Place& place) const {
    return torchvision ? fmt::format("features.{}", place.index)
                       : fmt::format("net.slice{}.{}", place.slice, place.index);
  }
};

std::int64_t perceptual_memory(std::int64_t width, std::int64_t height) {
  // Of both pictures the features and what unit() makes of them, the difference and its square.
  const auto maps = [&](std::size_t level) {
    return 6 * kFloatBytes * kChannels[level] * (width >> level) * (height >> level);
  };
  // Small pictures need less for their features than oneDNN for a copy of the largest weights.
  const Place& largest = kPlaces.back();
  const std::int64_t weights = 9 * kFloatBytes * largest.in * largest.out;
  return std::max(maps(0), weights + maps(3));
}

void check_perceptual_size(std::int64_t width, std::int64_t height) {
  TTT_CHECK(width >= kSmallest && height >= kSmallest, usage,
            fmt::format("pictures of {}x{} are too small for the perceptual loss: VGG16 halves "
                        "them four times",
                        width, height),
            "--size", fmt::format("use at least {0}x{0}, or leave out --lpips-weights", kSmallest));
}

PerceptualLoss::PerceptualLoss(std::span<const std::string> files, c10::Device device) {
  TTT_CHECK(files.size() == 1 || files.size() == 2, usage,
            fmt::format("{} files for the perceptual loss", files.size()), "--lpips-weights",
            kHint);
  const auto options = at::TensorOptions().dtype(at::kFloat);
  for (const Place& place : kPlaces)
    trunk_.push_back(
        {at::empty({place.out, place.in, 3, 3}, options), at::empty({place.out}, options)});
  for (std::size_t i = 0; i < top_.size(); ++i)
    top_[i] = at::empty({1, kChannels[i], 1, 1}, options);
  shift_ = at::tensor({-.030, -.088, -.188}, options).view({1, 3, 1, 1});
  scale_ = at::tensor({.458, .448, .450}, options).view({1, 3, 1, 1});

  const auto where = [&](const WeightFile& file) { return printable(file.path().string()); };
  bool trunk = false, top = false;
  for (const std::string& path : files) {
    const WeightFile file = WeightFile::open(path);
    const Names names(file);
    TTT_CHECK(names.trunk || names.top, weights,
              "the file holds neither VGG16 nor the layers of LPIPS", where(file), kHint);
    TTT_CHECK(!(names.trunk && trunk) && !(names.top && top), weights,
              names.trunk && trunk ? "both files hold a trunk" : "both files hold LPIPS's layers",
              where(file), kHint);
    std::vector<ParameterSlot> slots;
    if (names.trunk) slots = trunk_slots(names);
    if (names.top)
      for (ParameterSlot& slot : top_slots()) slots.push_back(std::move(slot));
    // `lins.*` are the layers once more, under the names of a list.
    load_state_dict(file, slots,
                    {.allow_missing = {"scaling_layer.*"},
                     .ignored = {"classifier.*", "lins.*"},
                     .suggestion = [] { return std::string(kHint); }});
    trunk |= names.trunk;
    top |= names.top;
    constexpr int kDigits = 16;
    description_ +=
        fmt::format("{}{:.{}}", description_.empty() ? "" : "+", file.content_hash(), kDigits);
  }
  TTT_CHECK(trunk && top, weights,
            trunk ? "the layers of LPIPS are missing (lin0.model.1.weight, …)"
                  : "the VGG16 trunk is missing (features.0.weight, … or net.slice1.0.weight, …)",
            printable(files.back()), kHint);
  for (Convolution& convolution : trunk_)
    convolution = {convolution.weight.to(device), convolution.bias.to(device)};
  for (at::Tensor* tensor : {&top_[0], &top_[1], &top_[2], &top_[3], &top_[4], &shift_, &scale_})
    *tensor = tensor->to(device);
}

std::vector<ParameterSlot> PerceptualLoss::trunk_slots(const Names& names) const {
  std::vector<ParameterSlot> slots;
  for (std::size_t i = 0; i < kPlaces.size(); ++i) {
    const std::string name = names.of(kPlaces[i]);
    slots.push_back({name + ".weight", trunk_[i].weight});
    slots.push_back({name + ".bias", trunk_[i].bias});
  }
  if (!names.torchvision) {
    slots.push_back({"scaling_layer.shift", shift_});
    slots.push_back({"scaling_layer.scale", scale_});
  }
  return slots;
}

std::vector<ParameterSlot> PerceptualLoss::top_slots() const {
  std::vector<ParameterSlot> slots;
  for (std::size_t i = 0; i < top_.size(); ++i)
    slots.push_back({fmt::format("lin{}.model.1.weight", i), top_[i]});
  return slots;
}

void PerceptualLoss::to(at::ScalarType dtype) {
  trunk_ = trunk_in(dtype);
  for (at::Tensor* tensor : {&top_[0], &top_[1], &top_[2], &top_[3], &top_[4], &shift_, &scale_})
    *tensor = tensor->to(dtype);
}

PerceptualLoss::Trunk PerceptualLoss::trunk_in(at::ScalarType dtype) const {
  Trunk result;
  for (const Convolution& convolution : trunk_)
    result.push_back({convolution.weight.to(dtype), convolution.bias.to(dtype)});
  return result;
}

at::Tensor PerceptualLoss::distances(const Trunk& trunk, const at::Tensor& rendered,
                                     const at::Tensor& truth) const {
  const auto input = [&](const at::Tensor& pictures) {
    const at::Tensor scaled = (2 * pictures.to(shift_.scalar_type()) - 1 - shift_) / scale_;
    return scaled.to(trunk.front().weight.scalar_type());
  };
  std::size_t next = 0;
  const auto level = [&](std::size_t first, int slice, at::Tensor x) {
    if (slice > 1) x = at::max_pool2d(x, {2, 2});
    for (next = first; next < kPlaces.size() && kPlaces[next].slice == slice; ++next)
      x = at::conv2d(x, trunk[next].weight, trunk[next].bias, 1, 1).relu_();
    return x;  // [N, C, H / 2^(slice - 1), W / 2^(slice - 1)]
  };
  at::Tensor a = input(rendered), b = input(truth.detach()), sum;
  for (int i = 0; i < kLevels; ++i) {
    const std::size_t first = next;
    a = level(first, i + 1, a);
    b = level(first, i + 1, b);  // records no gradients: neither input nor weights need them
    const at::Tensor difference = (unit(a) - unit(b)).square();
    const at::Tensor distance =
        (difference * top_[static_cast<std::size_t>(i)]).sum(1).mean({1, 2});
    sum = sum.defined() ? sum + distance : distance;
  }
  return sum;  // [N]
}

at::Tensor PerceptualLoss::mean_distance(const at::Tensor& rendered, const at::Tensor& truth,
                                         at::ScalarType compute, at::Tensor* gradient) const {
  const std::int64_t count = rendered.size(0);
  const std::int64_t step =
      std::max<std::int64_t>(1, kTilePixels / (rendered.size(2) * rendered.size(3)));
  const Trunk trunk = trunk_in(compute);
  at::Tensor sum = at::zeros({}, shift_.options());
  if (gradient != nullptr) *gradient = at::empty_like(rendered);
  for (std::int64_t first = 0; first < count; first += step) {
    const std::int64_t now = std::min(step, count - first);
    const at::Tensor target = truth.narrow(0, first, now);
    if (gradient == nullptr) {
      sum += distances(trunk, rendered.narrow(0, first, now), target).sum();
      continue;
    }
    const at::AutoGradMode recording(true);
    const at::Tensor part = rendered.narrow(0, first, now).detach().requires_grad_();
    const at::Tensor value = distances(trunk, part, target).sum();
    const at::Tensor by_part = torch::autograd::grad({value}, {part}).front();
    const at::NoGradGuard no_grad;
    gradient->narrow(0, first, now).copy_(by_part / static_cast<double>(count));
    sum += value.detach();
  }
  return sum / static_cast<double>(count);
}

/// Features of all pictures at once would not fit, so the gradient is computed with the value.
struct MeanDistance : torch::autograd::Function<MeanDistance> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& rendered,
                            const at::Tensor& truth, const PerceptualLoss* network,
                            at::ScalarType compute) {
    at::Tensor gradient;
    const at::Tensor value = network->mean_distance(rendered.detach(), truth, compute, &gradient);
    context->save_for_backward({gradient});
    return value;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& gradients) {
    const at::Tensor gradient = context->get_saved_variables().front();
    return {gradients.front().to(gradient.scalar_type()) * gradient, {}, {}, {}};
  }
};

at::Tensor PerceptualLoss::loss(const at::Tensor& rendered, const at::Tensor& truth,
                                at::ScalarType compute) const {
  check_perceptual_size(rendered.size(3), rendered.size(2));
  if (at::GradMode::is_enabled() && rendered.requires_grad())
    return MeanDistance::apply(rendered, truth, this, compute);
  const torch::NoGradGuard no_grad;
  return mean_distance(rendered, truth, compute, nullptr);
}

at::Tensor PerceptualLoss::distances(const at::Tensor& rendered, const at::Tensor& truth) const {
  check_perceptual_size(rendered.size(3), rendered.size(2));
  const torch::NoGradGuard no_grad;
  std::vector<at::Tensor> parts;
  for (std::int64_t i = 0; i < rendered.size(0); ++i)
    parts.push_back(distances(trunk_, rendered.narrow(0, i, 1), truth.narrow(0, i, 1)));
  return at::cat(parts);
}

}  // namespace ttt::nvs
