// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/newton_schulz/cpu_kernel.h"
#include "kernels/newton_schulz/newton_schulz.h"
#include "kernels/support/cpu_gemm.h"

#include <ATen/core/Tensor.h>

#include <vector>

namespace ttt::ops::cpu {

/// The iterations on one matrix after the other. Every tile of a product is brought into the forms
/// that the next products take while it is in the first-level cache, so that nothing is packed,
/// added or mirrored in passes of its own; of the symmetric matrices A = X X^T and Q = b A + c A A
/// the tiles right of the diagonal are computed. Between iterations X is what the factors are: with
/// bfloat16, rounded to it.
class NewtonSchulzIterations {
 public:
  /// For matrices [rows, columns], rows <= columns. Threads share the tiles of a matrix, except
  /// where they already share something else.
  NewtonSchulzIterations(std::int64_t rows, std::int64_t columns, bool bf16);

  void run(const FloatMatrix& g, const std::vector<NewtonSchulzStep>& steps,
           const FloatMatrix& out);

 private:
  /// Tiles of a product below each other: a panel of its columns, and row blocks.
  struct Task {
    std::int64_t panel, first, end;
  };
  struct Factors {
    const char* left;    ///< rows padded to whole tiles
    const char* panels;  ///< likewise
    std::int64_t depth, columns;
    bool symmetric;  ///< so is the product
  };

  void start(const FloatMatrix& g, const FloatMatrix* out);
  void gram();
  void square(const NewtonSchulzStep& step);
  void next(const NewtonSchulzStep& step, const FloatMatrix* out);
  double norm(const FloatMatrix& g) const;
  void multiply_tile(const PanelProduct& product) const;
  template <typename Describe>
  void multiply_tiles(const std::vector<Task>& tasks, const Factors& factors,
                      const Describe& describe) const;
  void multiply_diagonal(const PanelProduct& product) const;
  NewtonSchulzTile tile_of_x(std::int64_t block, std::int64_t panel, const FloatMatrix* out) const;

  std::int64_t rows_of(std::int64_t block) const;
  std::int64_t columns_of(std::int64_t panel) const;
  // Places of tiles in the buffers.
  char* x_left(std::int64_t block, std::int64_t panel) const;
  char* x_panel(int which, std::int64_t panel, std::int64_t block) const;
  char* x_turned(std::int64_t block, std::int64_t panel) const;
  char* gram_left(std::int64_t block, std::int64_t other) const;
  char* gram_panel(std::int64_t other, std::int64_t block) const;
  char* square_left(std::int64_t block, std::int64_t other) const;
  float* kept(std::int64_t block, std::int64_t other) const;

  std::int64_t rows_, columns_;
  bool bf16_;
  std::int64_t bytes_;            // of an element
  std::int64_t blocks_, panels_;  // tiles down and across
  std::vector<Task> all_;         // tiles of [rows, columns]
  std::vector<Task> upper_;       // of [rows, rows], on the diagonal and right of it
  at::Tensor memory_;
  char* x_left_;       // [rows, columns]
  char* x_panels_[2];  // right factor: this iteration's and the next one's
  char* x_turned_;     // the transpose as right factor
  char* gram_left_;    // A as left factor
  char* gram_panels_;  // A as right factor
  char* square_left_;  // Q as left factor
  float* kept_;        // A in float, a tile after the other; where it isn't the left factor
  int current_ = 0;    // of x_panels_
};

}  // namespace ttt::ops::cpu
