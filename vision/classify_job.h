// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/error.h"
#include "core/inputs/inputs.h"
#include "core/media/decode.h"
#include "core/progress.h"
#include "vision/classifier.h"

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ttt::vision {

/// How a list of pictures is classified.
struct ClassifyJobOptions {
  PreprocessOptions preprocess;
  DecodeMode decode = DecodeMode::photo;
  std::int64_t batch = 8;
  std::int64_t workers = 2;    ///< threads that decode and pre-process
  std::int64_t top_k = 5;      ///< at most the number of classes
  bool stop_on_error = false;  ///< end at the first unreadable picture instead of going on
  ForwardContext context;
  ProgressCallback progress;
};

/// One of the best classes of a picture.
struct ClassScore {
  std::int64_t index = 0;
  double probability = 0;
};

/// What became of one item. Rows arrive in the order of the items.
struct ClassifyRow {
  std::size_t item = 0;  ///< index into the items given
  std::optional<Error> error;
  int width = 0, height = 0;  ///< of the picture as decoded
  std::vector<ClassScore> top;
  std::vector<float> logits;    ///< [classes]
  std::vector<float> features;  ///< [C]
  double time_ms = 0;  ///< decoding and pre-processing, plus its share of the batch's forward pass
};

/// The k best classes of a row of logits by falling probability (softmax in fp64); ties by index.
std::vector<ClassScore> best_classes(std::span<const float> logits, std::int64_t k);

/// The k best classes of one picture in memory, pre-processed as the weights ask for
/// (Classifier::default_preprocess). Throws as plan_resize and Classifier::run do, Error(usage)
/// when the picture's pixels don't fill its size, Error(unsupported) when the scores are not
/// finite.
std::vector<ClassScore> classify_image(const Classifier& classifier, const Image& image,
                                       std::int64_t k = 5, const ForwardContext& context = {});

enum class JobEnd { complete, interrupted, stopped_on_error };

/// Decodes in worker threads, runs the model in batches, and hands rows to `on_row` in order, from
/// the calling thread. A picture that can't be read becomes a row with its error. When cancellation
/// is requested (core/cancel.h) the batch at work is finished and delivered. A batch that doesn't
/// fit in memory is halved, down to one picture. Exceptions of `on_row` end the job and pass
/// through.
JobEnd classify(const Classifier& classifier, std::span<const InputItem> items,
                const ClassifyJobOptions& options,
                const std::function<void(ClassifyRow&&)>& on_row);

}  // namespace ttt::vision
