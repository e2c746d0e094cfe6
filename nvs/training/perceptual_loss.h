// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/weights/state_dict.h"

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <array>
#include <span>
#include <string>
#include <vector>

namespace ttt::nvs {

/// LPIPS v0.1 on VGG16 (richzhang/PerceptualSimilarity): how different two pictures look, by the
/// features of a network that was trained to recognise things. 0 for equal ones.
class PerceptualLoss {
 public:
  /// Reads the weights strictly, from one file or two that together hold
  /// - the trunk: `net.slice{1..5}.{index}.weight` and `.bias` of the LPIPS package, or
  /// torchvision's
  ///   `features.{index}.…` of vgg16, whose classifier is passed over;
  /// - the layers on top: `lin{0..4}.model.1.weight`, as in LPIPS's own small vgg.pth.
  /// Throws Error(weights), Error(usage) unless there are one or two files.
  explicit PerceptualLoss(std::span<const std::string> files,
                          c10::Device device = c10::DeviceType::CPU);

  /// Distances [N] of pictures [N,3,H,W] with values in 0 to 1, in the weights' precision and
  /// without gradients. Throws Error(usage) for pictures that are too small.
  at::Tensor distances(const at::Tensor& rendered, const at::Tensor& truth) const;
  /// Their mean, differentiable by `rendered`. The convolutions run in `compute`. Needs the memory
  /// of a few pictures' features, however many pictures there are: gradients are computed along.
  at::Tensor loss(const at::Tensor& rendered, const at::Tensor& truth,
                  at::ScalarType compute = at::kFloat) const;

  /// The precision of the weights, float to begin with.
  void to(at::ScalarType dtype);
  /// Tells weights from others.
  const std::string& description() const { return description_; }

 private:
  struct Convolution {
    at::Tensor weight, bias;
  };
  using Trunk = std::vector<Convolution>;
  struct Names;

  std::vector<ParameterSlot> trunk_slots(const Names& names) const;
  std::vector<ParameterSlot> top_slots() const;
  Trunk trunk_in(at::ScalarType dtype) const;
  at::Tensor distances(const Trunk& trunk, const at::Tensor& rendered,
                       const at::Tensor& truth) const;
  /// Mean distance and its gradient by `rendered`, if wanted, a few pictures at a time.
  at::Tensor mean_distance(const at::Tensor& rendered, const at::Tensor& truth,
                           at::ScalarType compute, at::Tensor* gradient) const;
  friend struct MeanDistance;

  Trunk trunk_;                    // of 13
  std::array<at::Tensor, 5> top_;  // [1, C, 1, 1]
  at::Tensor shift_, scale_;       // [1, 3, 1, 1]
  std::string description_;
};

/// Bytes of tensors that distances() takes beside weights and pictures, a pair at a time.
std::int64_t perceptual_memory(std::int64_t width, std::int64_t height);

/// VGG16 halves pictures four times. Throws Error(usage) when nothing is left of this size.
void check_perceptual_size(std::int64_t width, std::int64_t height);

}  // namespace ttt::nvs
