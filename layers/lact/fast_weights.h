// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/swiglu_fast_weights/swiglu_fast_weights.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace ttt::layers {

/// The fast weights of one LaCT layer: a value that a sequence starts from and ends with, to be
/// kept, saved and continued. Layout in_out: w0, w2 [B or 1, heads, D, h], w1 [B or 1, heads, h,
/// D].
struct FastWeights {
  ops::SwigluMatrices weights;
  /// Lengths that updates scale back to, [B or 1, heads, 1, out] each. Undefined: measured on the
  /// weights when the next sequence starts.
  ops::SwigluMatrices norms;
  /// Un-orthogonalised momentum, shaped like per-sample weights. Undefined: none yet.
  ops::SwigluMatrices momentum;

  bool has_norms() const { return norms.w0.defined(); }
  bool has_momentum() const { return momentum.w0.defined(); }
};

/// Lengths over the input axis of all three matrices. Differentiable.
ops::SwigluMatrices fast_weight_norms(const ops::SwigluMatrices& weights);

/// Swaps the last two axes: from the layout out_in of the minimal and language code (w0, w2
/// [.., h, D], w1 [.., D, h]) to in_out, or back.
ops::SwigluMatrices transposed(const ops::SwigluMatrices& matrices);

/// Sum of the raw gradients of several parts of one chunk, all taken at the same weights. As the
/// gradient is a plain sum over tokens, one update with the merged gradient is the update of the
/// whole chunk. (States that were updated on their own can't be merged exactly: Newton-Schulz and
/// the scaling are not additive.) Throws Error(usage) for none or different shapes.
ops::SwigluMatrices merge_gradients(const std::vector<ops::SwigluMatrices>& parts);

/// Where the matrices of a state file are stored in bfloat16 they are meant for applying only;
/// norms and momentum stay float.
enum class StateDtype { float32, bfloat16 };

/// Writes the states of named layers to a safetensors file ("<layer>.w0", "<layer>.norm0",
/// "<layer>.momentum0", ...), with `metadata` for the configuration they belong to. Throws
/// Error(output).
void save_fast_weights(const std::filesystem::path& path,
                       const std::map<std::string, FastWeights>& layers,
                       const std::map<std::string, std::string>& metadata = {},
                       StateDtype dtype = StateDtype::float32);

struct FastWeightsFile {
  std::map<std::string, FastWeights> layers;
  std::map<std::string, std::string> metadata;
};
/// Reads such a file, in float. Throws Error(weights) for files that are something else, with names
/// missing, shapes that don't fit each other or values that are not finite.
FastWeightsFile load_fast_weights(const std::filesystem::path& path);

}  // namespace ttt::layers
