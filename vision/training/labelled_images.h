// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/inputs/inputs.h"
#include "core/media/decode.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ttt::vision {

struct LabelledImagesOptions {
  DecodeMode decode = DecodeMode::photo;
  /// Decoded pictures are kept in memory up to this many bytes.
  std::uint64_t cache_bytes = std::uint64_t{2} << 30;
  /// Class names in label order; empty: the labels that occur, in byte order.
  std::vector<std::string> classes;
};

/// Pictures with class labels, decoded on demand.
class LabelledImages {
 public:
  /// Throws Error(usage) for a set without labels, and for labels that are not among
  /// options.classes.
  LabelledImages(InputSet inputs, const LabelledImagesOptions& options);
  ~LabelledImages();

  std::int64_t size() const { return static_cast<std::int64_t>(inputs_.items.size()); }
  const std::vector<std::string>& classes() const { return classes_; }
  std::int64_t label(std::int64_t index) const { return labels_[static_cast<std::size_t>(index)]; }
  /// Decoded, from the cache if possible. Thread-safe. Throws Error(input) or Error(unsupported).
  std::shared_ptr<const Image> load(std::int64_t index) const;

 private:
  class Cache;
  void assign_labels();

  InputSet inputs_;
  LabelledImagesOptions options_;
  std::vector<std::string> classes_;
  std::vector<std::int64_t> labels_;
  std::unique_ptr<Cache> cache_;
};

}  // namespace ttt::vision
