// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "vision/training/rand_augment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace ttt::vision {
namespace {

using training::Random;
using Fill = std::array<std::uint8_t, 3>;
using Table = std::array<std::uint8_t, 256>;

constexpr double kMaxMagnitude = 10.0;

std::uint8_t to_byte(double value) {
  return static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0));
}

double signed_by_chance(double value, Random& random) {
  return random.chance(0.5) ? -value : value;
}

template <typename Function>
void map_values(Image& image, const Function& function) {
  Table table;
  for (int i = 0; i < 256; ++i) table[static_cast<std::size_t>(i)] = function(i);
  for (std::uint8_t& value : image.rgb) value = table[value];
}

std::array<std::array<int, 256>, 3> histograms(const Image& image) {
  std::array<std::array<int, 256>, 3> counts{};
  for (std::size_t i = 0; i < image.rgb.size(); ++i) ++counts[i % 3][image.rgb[i]];
  return counts;
}

void map_channels(Image& image, const std::array<Table, 3>& tables) {
  for (std::size_t i = 0; i < image.rgb.size(); ++i) image.rgb[i] = tables[i % 3][image.rgb[i]];
}

Table identity() {
  Table table;
  for (int i = 0; i < 256; ++i) table[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(i);
  return table;
}

/// Stretches each channel to the full range, as Pillow's ImageOps.autocontrast.
void auto_contrast(Image& image, double, const Fill&, Random&) {
  const auto counts = histograms(image);
  std::array<Table, 3> tables{identity(), identity(), identity()};
  for (std::size_t c = 0; c < 3; ++c) {
    int low = 0, high = 255;
    while (low < 255 && counts[c][static_cast<std::size_t>(low)] == 0) ++low;
    while (high > 0 && counts[c][static_cast<std::size_t>(high)] == 0) --high;
    if (high <= low) continue;
    const double scale = 255.0 / (high - low);
    for (int i = 0; i < 256; ++i)
      tables[c][static_cast<std::size_t>(i)] = to_byte(i * scale - low * scale);
  }
  map_channels(image, tables);
}

/// Flattens the histogram of each channel, as Pillow's ImageOps.equalize.
void equalize(Image& image, double, const Fill&, Random&) {
  const auto counts = histograms(image);
  std::array<Table, 3> tables{identity(), identity(), identity()};
  for (std::size_t c = 0; c < 3; ++c) {
    int used = 0, last = 0, total = 0;
    for (const int count : counts[c]) {
      if (count == 0) continue;
      ++used;
      last = count;
      total += count;
    }
    const int step = (total - last) / 255;
    if (used <= 1 || step == 0) continue;
    int sum = step / 2;
    for (std::size_t i = 0; i < 256; ++i) {
      tables[c][i] = static_cast<std::uint8_t>(std::min(255, sum / step));
      sum += counts[c][i];
    }
  }
  map_channels(image, tables);
}

void invert(Image& image, double, const Fill&, Random&) {
  map_values(image, [](int value) { return static_cast<std::uint8_t>(255 - value); });
}

void posterize(Image& image, double magnitude, const Fill&, Random&) {
  const int bits = 4 - static_cast<int>(magnitude / kMaxMagnitude * 4);
  const int mask = ~((1 << (8 - bits)) - 1) & 255;
  map_values(image, [mask](int value) { return static_cast<std::uint8_t>(value & mask); });
}

void solarize(Image& image, double magnitude, const Fill&, Random&) {
  const int threshold = 256 - static_cast<int>(magnitude / kMaxMagnitude * 256);
  map_values(image, [threshold](int value) {
    return static_cast<std::uint8_t>(value < threshold ? value : 255 - value);
  });
}

void solarize_add(Image& image, double magnitude, const Fill&, Random&) {
  const int added = static_cast<int>(magnitude / kMaxMagnitude * 110);
  map_values(image, [added](int value) {
    return static_cast<std::uint8_t>(value < 128 ? std::min(255, value + added) : value);
  });
}

int grey_of(const std::uint8_t* pixel) {
  return (pixel[0] * 19595 + pixel[1] * 38470 + pixel[2] * 7471 + 0x8000) >> 16;
}

/// Moves every value away from `base(pixel, channel)` (factor above 1) or towards it.
template <typename Base>
void blend(Image& image, double factor, const Base& base) {
  for (std::size_t i = 0; i < image.rgb.size(); i += 3) {
    std::array<double, 3> from{};
    for (std::size_t c = 0; c < 3; ++c) from[c] = base(i, c);
    for (std::size_t c = 0; c < 3; ++c)
      image.rgb[i + c] = to_byte(from[c] + factor * (image.rgb[i + c] - from[c]));
  }
}

double enhancement(double magnitude, Random& random) {
  return 1.0 + signed_by_chance(magnitude / kMaxMagnitude * 0.9, random);
}

void color(Image& image, double magnitude, const Fill&, Random& random) {
  blend(image, enhancement(magnitude, random), [&](std::size_t pixel, std::size_t) {
    return static_cast<double>(grey_of(&image.rgb[pixel]));
  });
}

void contrast(Image& image, double magnitude, const Fill&, Random& random) {
  double sum = 0;
  for (std::size_t i = 0; i < image.rgb.size(); i += 3) sum += grey_of(&image.rgb[i]);
  const double mean = std::floor(sum / (static_cast<double>(image.rgb.size()) / 3.0) + 0.5);
  blend(image, enhancement(magnitude, random), [mean](std::size_t, std::size_t) { return mean; });
}

void brightness(Image& image, double magnitude, const Fill&, Random& random) {
  blend(image, enhancement(magnitude, random), [](std::size_t, std::size_t) { return 0.0; });
}

/// Against Pillow's SMOOTH filter (centre 5, neighbours 1, over 13), which leaves the border alone.
void sharpness(Image& image, double magnitude, const Fill&, Random& random) {
  Image smooth = image;
  for (int y = 1; y + 1 < image.height; ++y)
    for (int i = 3; i < 3 * (image.width - 1); ++i) {
      int sum = 4 * image.row(y)[i];
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -3; dx <= 3; dx += 3) sum += image.row(y + dy)[i + dx];
      smooth.row(y)[i] = to_byte(sum / 13.0 + 0.5);
    }
  blend(image, enhancement(magnitude, random), [&](std::size_t pixel, std::size_t channel) {
    return static_cast<double>(smooth.rgb[pixel + channel]);
  });
}

/// Where the pixel (x, y) of the result comes from: (a x + b y + c, d x + e y + f), in the
/// coordinates of pixel centres.
struct Affine {
  double a = 1, b = 0, c = 0, d = 0, e = 1, f = 0;
};

/// Cubic weights with a = -1/2, of the taps -1, 0, 1, 2 around a fraction.
std::array<double, 4> cubic_weights(double t) {
  constexpr double kA = -0.5;
  const auto near = [](double x) { return ((kA + 2) * x - (kA + 3)) * x * x + 1; };
  const auto far = [](double x) { return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA; };
  return {far(1 + t), near(t), near(1 - t), far(2 - t)};
}

void sample(const Image& image, double x, double y, std::uint8_t* out) {
  const int left = static_cast<int>(std::floor(x)), top = static_cast<int>(std::floor(y));
  const std::array<double, 4> wx = cubic_weights(x - left), wy = cubic_weights(y - top);
  std::array<double, 3> sum{};
  for (int j = 0; j < 4; ++j) {
    const std::uint8_t* row = image.row(std::clamp(top - 1 + j, 0, image.height - 1));
    for (int i = 0; i < 4; ++i) {
      const std::uint8_t* pixel = row + 3 * std::clamp(left - 1 + i, 0, image.width - 1);
      const double weight = wy[static_cast<std::size_t>(j)] * wx[static_cast<std::size_t>(i)];
      for (std::size_t c = 0; c < 3; ++c) sum[c] += weight * pixel[c];
    }
  }
  for (std::size_t c = 0; c < 3; ++c) out[c] = to_byte(sum[c] + 0.5);
}

void transform(Image& image, const Affine& map, const Fill& fill) {
  const Image source = image;
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x) {
      const double cx = x + 0.5, cy = y + 0.5;
      const double from_x = map.a * cx + map.b * cy + map.c;
      const double from_y = map.d * cx + map.e * cy + map.f;
      std::uint8_t* out = image.row(y) + 3 * x;
      if (from_x < 0 || from_y < 0 || from_x >= image.width || from_y >= image.height) {
        std::copy(fill.begin(), fill.end(), out);
      } else {
        sample(source, from_x - 0.5, from_y - 0.5, out);
      }
    }
}

void rotate(Image& image, double magnitude, const Fill& fill, Random& random) {
  constexpr double kMaxDegrees = 30.0;
  const double degrees = signed_by_chance(magnitude / kMaxMagnitude * kMaxDegrees, random);
  const double angle = degrees * std::numbers::pi / 180.0;
  const double cosine = std::cos(angle), sine = std::sin(angle);
  const double x = image.width / 2.0, y = image.height / 2.0;
  transform(image,
            {cosine, -sine, x - cosine * x + sine * y, sine, cosine, y - sine * x - cosine * y},
            fill);
}

void shear_x(Image& image, double magnitude, const Fill& fill, Random& random) {
  transform(image, {.b = signed_by_chance(magnitude / kMaxMagnitude * 0.3, random)}, fill);
}

void shear_y(Image& image, double magnitude, const Fill& fill, Random& random) {
  transform(image, {.d = signed_by_chance(magnitude / kMaxMagnitude * 0.3, random)}, fill);
}

void translate_x(Image& image, double magnitude, const Fill& fill, Random& random) {
  const double part = signed_by_chance(magnitude / kMaxMagnitude * 0.45, random);
  transform(image, {.c = part * image.width}, fill);
}

void translate_y(Image& image, double magnitude, const Fill& fill, Random& random) {
  const double part = signed_by_chance(magnitude / kMaxMagnitude * 0.45, random);
  transform(image, {.f = part * image.height}, fill);
}

}  // namespace

const std::vector<RandAugmentOp>& rand_augment_operations() {
  static const std::vector<RandAugmentOp> operations{{"auto_contrast", auto_contrast},
                                                     {"equalize", equalize},
                                                     {"invert", invert},
                                                     {"rotate", rotate},
                                                     {"posterize", posterize},
                                                     {"solarize", solarize},
                                                     {"solarize_add", solarize_add},
                                                     {"color", color},
                                                     {"contrast", contrast},
                                                     {"brightness", brightness},
                                                     {"sharpness", sharpness},
                                                     {"shear_x", shear_x},
                                                     {"shear_y", shear_y},
                                                     {"translate_x", translate_x},
                                                     {"translate_y", translate_y}};
  return operations;
}

void rand_augment(Image& image, const AugmentOptions& options, Random& random) {
  Fill fill;
  for (std::size_t c = 0; c < 3; ++c)
    fill[c] = static_cast<std::uint8_t>(std::lround(255.0F * options.preprocess.mean[c]));
  const auto& operations = rand_augment_operations();
  for (int i = 0; i < options.rand_augment_ops; ++i) {
    const RandAugmentOp& operation =
        operations[static_cast<std::size_t>(random.below(std::ssize(operations)))];
    if (!random.chance(0.5)) continue;
    const double magnitude =
        std::clamp(options.rand_augment_magnitude + options.rand_augment_std * random.normal(), 0.0,
                   kMaxMagnitude);
    operation.apply(image, magnitude, fill, random);
  }
}

}  // namespace ttt::vision
