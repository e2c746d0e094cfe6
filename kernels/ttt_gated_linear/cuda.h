// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/rope_2d/cuda.h"

namespace ttt::ops::cuda {

/// The widest head that the kernels take.
constexpr std::int64_t kMaxHeadWidth = 128;

/// Activations [batch, tokens, heads*width], matrices [batch, heads, width, width] of float.
struct GatedLinearSizes {
  std::int64_t batch = 0, tokens = 0, heads = 0, width = 0;
  std::int64_t block_tokens = 0;  ///< of kernels that sum over no tokens; 0: chosen for speed
};

/// An activation to read or to write.
struct TokenInput {
  const void* data = nullptr;
  TokenStrides strides;
};
struct TokenOutput {
  void* data = nullptr;
  TokenStrides strides;
};

/// Two matrices per sample and head, each [heads, width, width] contiguous, samples
/// `batch_stride` apart (0: shared by all samples).
struct MatrixPair {
  const float *first = nullptr, *second = nullptr;
  std::int64_t batch_stride = 0;
};
/// The same to write, samples one after the other.
struct MatrixPairOutput {
  float *first = nullptr, *second = nullptr;
};

/// The gradient step: new weights, and the raw gradients before the clip.
struct GatedLinearStepLaunch {
  DataType type = DataType::float32;
  GatedLinearSizes sizes;
  TokenInput k, v;
  MatrixPair weights;
  MatrixPairOutput new_weights, gradients;
  RopeAngles rope;             ///< of k; heads are of even width then
  float* workspace = nullptr;  ///< gated_linear_workspace(sizes) floats
};
void launch_gated_linear_step(const GatedLinearStepLaunch& launch, const Stream& stream);

struct GatedLinearStepBackwardLaunch {
  DataType type = DataType::float32;
  GatedLinearSizes sizes;
  TokenInput k, v;
  MatrixPair weights, gradients;  ///< gradients: as the step saved them
  MatrixPair d_new_weights;       ///< one per sample
  TokenOutput dk, dv;
  MatrixPairOutput d_weights;  ///< per sample, whatever the weights' batch stride
  RopeAngles rope;
  float* workspace = nullptr;  ///< gated_linear_backward_workspace(sizes) floats
};
void launch_gated_linear_step_backward(const GatedLinearStepBackwardLaunch& launch,
                                       const Stream& stream);

struct GatedLinearApplyLaunch {
  DataType type = DataType::float32;
  GatedLinearSizes sizes;
  TokenInput q;
  MatrixPair weights;
  TokenOutput out;
  RopeAngles rope;
};
void launch_gated_linear_apply(const GatedLinearApplyLaunch& launch, const Stream& stream);

struct GatedLinearApplyBackwardLaunch {
  DataType type = DataType::float32;
  GatedLinearSizes sizes;
  TokenInput q;
  MatrixPair weights;
  TokenInput dout;
  TokenOutput dq;
  MatrixPairOutput d_weights;  ///< per sample
  RopeAngles rope;
  float* workspace = nullptr;  ///< gated_linear_workspace(sizes) floats
};
void launch_gated_linear_apply_backward(const GatedLinearApplyBackwardLaunch& launch,
                                        const Stream& stream);

/// Floats of workspace. Sums over the tokens are taken in chunks, whose number depends on `tokens`
/// and `width` alone: a sample's result is the same, bit for bit, in every batch and on every GPU
/// of one architecture.
std::int64_t gated_linear_workspace(const GatedLinearSizes& sizes);
std::int64_t gated_linear_backward_workspace(const GatedLinearSizes& sizes);

}  // namespace ttt::ops::cuda
