// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/classify_job.h"

#include "core/cancel.h"
#include "kernels/support/parallel.h"
#include "vision/picture_queue.h"

#include <spdlog/fmt/fmt.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>

namespace ttt::vision {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// Runs the model over pictures [B,3,H,W]; halves a batch that doesn't fit in memory.
ClassificationOutput run_with_back_off(const Classifier& classifier, const at::Tensor& images,
                                       const ForwardContext& context) {
  const std::int64_t count = images.size(0);
  try {
    return classifier.run(images, context);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::memory || count == 1) throw;
  }
  const std::int64_t half = count / 2;
  const auto first = run_with_back_off(classifier, images.narrow(0, 0, half), context);
  const auto second = run_with_back_off(classifier, images.narrow(0, half, count - half), context);
  return {at::cat({first.logits, second.logits}), at::cat({first.features, second.features})};
}

/// Why a model's scores can't be ranked, or nothing.
std::optional<Error> problem_of(std::span<const float> logits) {
  const bool finite =
      std::all_of(logits.begin(), logits.end(), [](float value) { return std::isfinite(value); });
  if (finite) return std::nullopt;
  return Error(ErrorKind::unsupported, "the model's scores are not finite", "",
               "try --dtype fp32; if that gives the same, the weights don't suit");
}

std::vector<float> to_vector(const at::Tensor& row) {
  const at::Tensor values = row.contiguous();
  return {values.const_data_ptr<float>(), values.const_data_ptr<float>() + values.numel()};
}

/// The model's threads and the workers would take turns on the same cores, all of which the workers
/// can use between two passes. On a GPU nothing but the model runs.
bool workers_should_rest(const Classifier& classifier, std::int64_t workers) {
  const std::int64_t threads = at::get_num_threads();
  const std::int64_t cores = std::thread::hardware_concurrency();
  return classifier.device().is_cpu() && workers >= threads && workers + threads > cores;
}

class ClassifyJob {
 public:
  ClassifyJob(const Classifier& classifier, std::span<const InputItem> items,
              const ClassifyJobOptions& options)
      : classifier_(classifier),
        options_(options),
        queue_(items, {options.preprocess, options.decode, options.workers,
                       2 * options.batch + options.workers}),
        pause_workers_(workers_should_rest(classifier, options.workers)),
        progress_("classify", static_cast<std::int64_t>(items.size()), options.progress) {}

  JobEnd run(const std::function<void(ClassifyRow&&)>& on_row) {
    while (true) {
      std::vector<PreparedPicture> pictures = queue_.take(options_.batch);
      if (pictures.empty()) return queue_.finished() ? JobEnd::complete : JobEnd::interrupted;
      for (ClassifyRow& row : classify_batch(pictures)) {
        const bool failed = row.error.has_value();
        on_row(std::move(row));
        progress_.advance();
        if (failed && options_.stop_on_error) return JobEnd::stopped_on_error;
      }
    }
  }

 private:
  std::vector<ClassifyRow> classify_batch(std::vector<PreparedPicture>& pictures) {
    std::vector<ClassifyRow> rows;
    std::vector<std::size_t> good;
    for (std::size_t i = 0; i < pictures.size(); ++i) {
      PreparedPicture& picture = pictures[i];
      rows.push_back({.item = picture.item,
                      .error = std::move(picture.error),
                      .width = picture.width,
                      .height = picture.height,
                      .time_ms = picture.time_ms});
      if (!rows.back().error) good.push_back(i);
    }
    if (good.empty()) return rows;
    const Clock::time_point start = Clock::now();
    try {
      const auto output = run_model(pictures, good);
      const double share = milliseconds_since(start) / static_cast<double>(good.size());
      for (std::size_t k = 0; k < good.size(); ++k)
        fill_row(rows[good[k]], output, static_cast<std::int64_t>(k), share);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::memory) throw;
      for (const std::size_t i : good) rows[i].error = error;
    }
    return rows;
  }

  ClassificationOutput run_model(const std::vector<PreparedPicture>& pictures,
                                 const std::vector<std::size_t>& good) {
    std::optional<PictureQueue::Pause> pause;
    if (pause_workers_) pause.emplace(queue_);
    return run_with_back_off(classifier_, stack(pictures, good), options_.context);
  }

  at::Tensor stack(const std::vector<PreparedPicture>& pictures,
                   const std::vector<std::size_t>& good) const {
    const PreprocessOptions& size = options_.preprocess;
    const auto count = static_cast<std::int64_t>(good.size());
    at::Tensor images = at::empty({count, 3, size.height, size.width});
    float* destination = images.mutable_data_ptr<float>();
    ops::parallel_parts(count, [&](std::int64_t k) {
      normalize(pictures[good[static_cast<std::size_t>(k)]].pixels, size,
                destination + k * images.stride(0));
    });
    return images;
  }

  void fill_row(ClassifyRow& row, const ClassificationOutput& output, std::int64_t index,
                double share) const {
    row.logits = to_vector(output.logits[index]);
    row.features = to_vector(output.features[index]);
    row.time_ms += share;
    row.error = problem_of(row.logits);
    if (!row.error) row.top = best_classes(row.logits, options_.top_k);
  }

  const Classifier& classifier_;
  const ClassifyJobOptions& options_;
  PictureQueue queue_;
  bool pause_workers_;
  Progress progress_;
};

}  // namespace

std::vector<ClassScore> best_classes(std::span<const float> logits, std::int64_t k) {
  const auto count =
      std::min(logits.size(), static_cast<std::size_t>(std::max<std::int64_t>(k, 0)));
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](std::size_t a, std::size_t b) {
                      return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
                    });
  std::vector<ClassScore> best;
  if (count == 0) return best;
  const double largest = logits[order.front()];
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  for (std::size_t i = 0; i < count; ++i)
    best.push_back(
        {static_cast<std::int64_t>(order[i]), std::exp(logits[order[i]] - largest) / sum});
  return best;
}

std::vector<ClassScore> classify_image(const Classifier& classifier, const Image& image,
                                       std::int64_t k, const ForwardContext& context) {
  const auto area = static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height);
  TTT_CHECK(image.width > 0 && image.height > 0 && image.rgb.size() == 3 * area, usage,
            fmt::format("a picture of {}x{} has {} bytes of pixels", image.width, image.height,
                        image.rgb.size()),
            "image", "fill rgb with width * height * 3 bytes");
  const PreprocessOptions& preprocess = classifier.default_preprocess();
  const at::Tensor pixels = at::empty({1, 3, preprocess.height, preprocess.width});
  normalize(resize_and_crop(image, preprocess), preprocess, pixels.mutable_data_ptr<float>());
  const std::vector<float> logits = to_vector(classifier.run(pixels, context).logits[0]);
  if (const auto problem = problem_of(logits)) throw Error(*problem);
  return best_classes(logits, k);
}

JobEnd classify(const Classifier& classifier, std::span<const InputItem> items,
                const ClassifyJobOptions& options,
                const std::function<void(ClassifyRow&&)>& on_row) {
  TTT_CHECK(options.batch > 0 && options.workers > 0, usage, "batch and workers must be positive");
  return ClassifyJob(classifier, items, options).run(on_row);
}

}  // namespace ttt::vision
