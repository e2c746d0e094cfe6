// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/resample.h"

#include "core/error.h"
#include "core/media/part.h"
#include "core/media/resample_passes.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ttt {
namespace {

double box_kernel(double x) {
  return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
}

double triangle_kernel(double x) {
  x = std::abs(x);
  return x < 1.0 ? 1.0 - x : 0.0;
}

/// Keys' cubic with a = -1/2 (Catmull-Rom).
double cubic_kernel(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
  return 0.0;
}

double sinc(double x) {
  if (x == 0.0) return 1.0;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

double lanczos_kernel(double x) {
  return -3.0 <= x && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0;
}

struct Kernel {
  double (*function)(double);
  double support;
};

Kernel kernel_of(ResizeFilter filter) {
  switch (filter) {
    case ResizeFilter::box:
      return {box_kernel, 0.5};
    case ResizeFilter::bilinear:
      return {triangle_kernel, 1.0};
    case ResizeFilter::bicubic:
      return {cubic_kernel, 2.0};
    case ResizeFilter::lanczos3:
      return {lanczos_kernel, 3.0};
  }
  throw Error(ErrorKind::internal, "unknown resize filter");
}

/// Which inputs the outputs of a side are made of.
class Side {
 public:
  Side(int in_size, int out_size, ResizeFilter filter)
      : kernel_(kernel_of(filter)),
        in_size_(in_size),
        scale_(static_cast<double>(in_size) / out_size),
        filter_scale_(std::max(scale_, 1.0)) {}

  int first(int output) const {
    return std::max(0, static_cast<int>(centre(output) - support() + 0.5));
  }
  int end(int output) const {
    return std::min(in_size_, static_cast<int>(centre(output) + support() + 0.5));
  }
  double weight(int output, int input) const {
    return kernel_.function((input - centre(output) + 0.5) * (1.0 / filter_scale_));
  }

 private:
  double centre(int output) const { return (output + 0.5) * scale_; }
  double support() const { return kernel_.support * filter_scale_; }

  Kernel kernel_;
  int in_size_;
  double scale_;
  double filter_scale_;
};

void check_resize(int image_width, int image_height, int width, int height, PixelRect window) {
  constexpr int kMaxSide = 1 << 30;
  TTT_CHECK(image_width > 0 && image_height > 0, internal, "resize of an empty picture");
  TTT_CHECK(width > 0 && height > 0 && width <= kMaxSide && height <= kMaxSide, input,
            fmt::format("can't resize a picture to {}x{}", width, height));
  TTT_CHECK(window.left >= 0 && window.top >= 0 && window.width >= 0 && window.height >= 0 &&
                window.width <= width - window.left && window.height <= height - window.top,
            internal, "resize window outside the picture");
}

/// A picture that is there from (left, top) on.
struct View {
  const Image& pixels;
  int left, top;
  int whole_width, whole_height;
};

Image resize_view(const View& view, int width, int height, PixelRect window, ResizeFilter filter) {
  PixelRect needed =
      window_source(view.whole_width, view.whole_height, width, height, window, filter);
  needed.left -= view.left;
  needed.top -= view.top;
  TTT_CHECK(needed.left >= 0 && needed.top >= 0 &&
                needed.width <= view.pixels.width - needed.left &&
                needed.height <= view.pixels.height - needed.top,
            internal, "resize of pixels that were not decoded");
  if (window.width == 0 || window.height == 0) return {window.width, window.height, {}};
  const resample::Passes& passes = resample::supported_passes().front();
  Image rows;
  if (width != view.whole_width) {
    resample::Axis axis =
        resample::make_axis(view.whole_width, width, window.left, window.width, filter);
    for (resample::Taps& taps : axis.outputs) taps.first -= view.left;
    rows = passes.horizontal(view.pixels, needed.top, needed.height, axis);
  } else {
    rows = crop(view.pixels, needed);
  }
  if (height == view.whole_height) return rows;
  return passes.vertical(
      rows, needed.top + view.top,
      resample::make_axis(view.whole_height, height, window.top, window.height, filter));
}

}  // namespace

namespace resample {

Axis make_axis(int in_size, int out_size, int begin, int count, ResizeFilter filter) {
  const Side side(in_size, out_size, filter);
  Axis axis;
  axis.outputs.reserve(static_cast<std::size_t>(count));
  std::vector<double> exact;
  for (int o = begin; o < begin + count; ++o) {
    const int first = side.first(o);
    const int end = side.end(o);
    exact.clear();
    double sum = 0.0;
    for (int x = first; x < end; ++x) {
      exact.push_back(side.weight(o, x));
      sum += exact.back();
    }
    axis.outputs.push_back({first, end - first, axis.weights.size()});
    for (double weight : exact) {
      if (sum != 0.0) weight /= sum;
      weight *= 1 << kFractionBits;
      axis.weights.push_back(static_cast<std::int32_t>(weight < 0 ? weight - 0.5 : weight + 0.5));
    }
    axis.weights.resize((axis.weights.size() + kGroup - 1) / kGroup * kGroup);
  }
  return axis;
}

}  // namespace resample

PixelRect window_source(int image_width, int image_height, int width, int height, PixelRect window,
                        ResizeFilter filter) {
  check_resize(image_width, image_height, width, height, window);
  if (window.width == 0 || window.height == 0) return {};
  PixelRect source = window;  // in input pixels along a side that is filtered
  if (width != image_width) {
    const Side side(image_width, width, filter);
    source.left = side.first(window.left);
    source.width = side.end(window.left + window.width - 1) - source.left;
  }
  if (height != image_height) {
    const Side side(image_height, height, filter);
    source.top = side.first(window.top);
    source.height = side.end(window.top + window.height - 1) - source.top;
  }
  return source;
}

Image resize_window(const Image& image, int width, int height, PixelRect window,
                    ResizeFilter filter) {
  return resize_view({image, 0, 0, image.width, image.height}, width, height, window, filter);
}

Image resize_window(const ImagePart& part, int width, int height, PixelRect window,
                    ResizeFilter filter) {
  return resize_view({part.pixels, part.left, part.top, part.whole_width, part.whole_height}, width,
                     height, window, filter);
}

Image resize(const Image& image, int width, int height, ResizeFilter filter) {
  constexpr std::int64_t kMaxPixels = std::int64_t{1} << 28;
  TTT_CHECK(static_cast<std::int64_t>(width) * height <= kMaxPixels, input,
            fmt::format("can't resize a picture of {}x{} to {}x{}", image.width, image.height,
                        width, height));
  return resize_window(image, width, height, {0, 0, width, height}, filter);
}

}  // namespace ttt
