// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/training/labelled_images.h"

#include "core/error.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace ttt::vision {
namespace {

/// Far more than any data set has; one odd label mustn't ask for gigabytes.
constexpr std::int64_t kMaxClasses = 1'000'000;

}  // namespace

/// Decoded pictures, until the budget is used up.
class LabelledImages::Cache {
 public:
  Cache(std::size_t samples, std::uint64_t budget) : images_(samples), budget_(budget) {}

  std::shared_ptr<const Image> find(std::size_t index) const {
    const std::lock_guard lock(mutex_);
    return images_[index];
  }

  void offer(std::size_t index, const std::shared_ptr<const Image>& image) {
    const std::uint64_t size = sizeof(Image) + image->rgb.size();
    const std::lock_guard lock(mutex_);
    if (images_[index] || size > budget_) return;
    budget_ -= size;
    images_[index] = image;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const Image>> images_;
  std::uint64_t budget_;
};

LabelledImages::LabelledImages(InputSet inputs, const LabelledImagesOptions& options)
    : inputs_(std::move(inputs)), options_(options) {
  // A path that doesn't exist has no label either; its own message is the better one.
  if (inputs_.label_source == LabelSource::none && !inputs_.items.empty()) inputs_.items[0].read();
  TTT_CHECK(inputs_.label_source != LabelSource::none, usage, "the pictures have no labels",
            "--data",
            "use a folder or tar archive with class folders, or a CSV file of paths and "
            "labels");
  assign_labels();
  cache_ = std::make_unique<Cache>(inputs_.items.size(), options.cache_bytes);
}

LabelledImages::~LabelledImages() = default;

void LabelledImages::assign_labels() {
  classes_ = options_.classes;
  if (classes_.empty()) {
    classes_ = inputs_.class_names;
    if (inputs_.labels_are_indices) {
      std::int64_t last = 0;
      for (const std::string& name : inputs_.class_names)
        last = std::max<std::int64_t>(last, std::stoll(name));
      TTT_CHECK(last < kMaxClasses, usage,
                fmt::format("the label {} would make {} classes", last, last + 1), "--data",
                "number the classes from 0 on");
      classes_.clear();
      for (std::int64_t i = 0; i <= last; ++i) classes_.push_back(std::to_string(i));
    }
  }
  std::map<std::string, std::int64_t, std::less<>> index_of;
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    index_of.emplace(classes_[i], static_cast<std::int64_t>(i));
    if (inputs_.labels_are_indices)
      index_of.emplace(std::to_string(i), static_cast<std::int64_t>(i));
  }
  for (const InputItem& item : inputs_.items) {
    const auto found = index_of.find(item.class_name);
    TTT_CHECK(found != index_of.end(), usage,
              fmt::format("the label \"{}\" is not among the {} classes",
                          printable(item.class_name), classes_.size()),
              printable(item.name), "training and validation data must share their class names");
    labels_.push_back(found->second);
  }
}

std::shared_ptr<const Image> LabelledImages::load(std::int64_t index) const {
  const auto position = static_cast<std::size_t>(index);
  if (std::shared_ptr<const Image> cached = cache_->find(position)) return cached;
  const InputItem& item = inputs_.items[position];
  const std::vector<std::uint8_t> bytes = item.read();
  const auto image =
      std::make_shared<const Image>(decode_image(bytes, options_.decode, printable(item.name)));
  cache_->offer(position, image);
  return image;
}

}  // namespace ttt::vision
