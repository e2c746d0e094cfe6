// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/media/image.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ttt::vision {

/// What stands below a picture of a contact sheet.
struct SheetCaption {
  std::string title;
  /// Class names with probabilities in [0,1]; the first kScores are shown.
  std::vector<std::pair<std::string, double>> scores;
  /// Draws a green or a red frame; nothing when the true class isn't known.
  std::optional<bool> right;
};

/// Pictures in a grid with their labels and probabilities. Keeps thumbnails only, so that memory
/// doesn't depend on the size of the pictures.
class ContactSheet {
 public:
  static constexpr std::size_t kCapacity = 400;
  static constexpr std::size_t kScores = 3;

  bool full() const { return tiles_.size() >= kCapacity; }
  /// Does nothing when the sheet is full.
  void add(const Image& picture, SheetCaption caption);
  /// A grey tile with a word on why there is no picture.
  void add_missing(const std::string& title, const std::string& reason);
  /// The sheet; one empty tile when nothing was added.
  Image draw() const;

 private:
  struct Tile {
    Image thumbnail;  ///< without pixels: missing
    SheetCaption caption;
    std::string reason;
  };
  std::vector<Tile> tiles_;
};

}  // namespace ttt::vision
