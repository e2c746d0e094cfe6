// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/quantize.h"

#include "core/error.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>

namespace ttt {
namespace {

constexpr std::size_t kMaxColours = 256;
using Rgb = std::array<std::uint8_t, 3>;

/// Pixels of nearly the same colour: five bits a channel.
struct Bin {
  std::array<std::uint64_t, 3> sums{};
  std::uint64_t count = 0;

  double mean(std::size_t channel) const {
    return static_cast<double>(sums[channel]) / static_cast<double>(count);
  }
};

std::uint32_t bin_of(const std::uint8_t* rgb) {
  return static_cast<std::uint32_t>((rgb[0] >> 3) << 10 | (rgb[1] >> 3) << 5 | rgb[2] >> 3);
}

std::vector<Bin> filled_bins(const Image& image) {
  std::vector<Bin> bins(std::size_t{1} << 15);
  for (std::size_t i = 0; i < image.rgb.size(); i += 3) {
    Bin& bin = bins[bin_of(&image.rgb[i])];
    for (std::size_t c = 0; c < 3; ++c) bin.sums[c] += image.rgb[i + c];
    ++bin.count;
  }
  std::erase_if(bins, [](const Bin& bin) { return bin.count == 0; });
  return bins;
}

/// A range of bins that shares one colour.
struct Box {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::array<double, 3> mean{};
  std::size_t widest = 0;  ///< the channel of largest squared error
  double error = 0;        ///< squared error in that channel
};

Box measure(const std::vector<Bin>& bins, std::size_t begin, std::size_t end) {
  Box box{begin, end};
  std::array<double, 3> squares{};
  double count = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const auto weight = static_cast<double>(bins[i].count);
    count += weight;
    for (std::size_t c = 0; c < 3; ++c) {
      box.mean[c] += static_cast<double>(bins[i].sums[c]);
      squares[c] += weight * bins[i].mean(c) * bins[i].mean(c);
    }
  }
  for (std::size_t c = 0; c < 3; ++c) {
    box.mean[c] /= count;
    const double error = squares[c] - count * box.mean[c] * box.mean[c];
    if (error > box.error) {
      box.error = error;
      box.widest = c;
    }
  }
  return box;
}

std::vector<Rgb> median_cut(std::vector<Bin> bins) {
  std::vector<Box> boxes{measure(bins, 0, bins.size())};
  while (boxes.size() < kMaxColours) {
    const auto worst = std::max_element(
        boxes.begin(), boxes.end(), [](const Box& a, const Box& b) { return a.error < b.error; });
    if (worst->end - worst->begin < 2 || worst->error <= 0) break;
    const Box box = *worst;
    const auto at = [&](std::size_t i) { return bins.begin() + static_cast<std::ptrdiff_t>(i); };
    // At the mean, where two halves lose most error; never an empty half.
    const auto middle = std::partition(at(box.begin), at(box.end), [&](const Bin& bin) {
      return bin.mean(box.widest) <= box.mean[box.widest];
    });
    const std::size_t split =
        std::clamp(static_cast<std::size_t>(middle - bins.begin()), box.begin + 1, box.end - 1);
    *worst = measure(bins, box.begin, split);
    boxes.push_back(measure(bins, split, box.end));
  }
  std::vector<Rgb> palette;
  for (const Box& box : boxes)
    palette.push_back({static_cast<std::uint8_t>(box.mean[0] + 0.5),
                       static_cast<std::uint8_t>(box.mean[1] + 0.5),
                       static_cast<std::uint8_t>(box.mean[2] + 0.5)});
  return palette;
}

std::uint8_t nearest(const std::vector<Rgb>& palette, const Rgb& colour) {
  int best = std::numeric_limits<int>::max();
  std::size_t index = 0;
  for (std::size_t i = 0; i < palette.size(); ++i) {
    int distance = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      const int difference = int{palette[i][c]} - int{colour[c]};
      distance += difference * difference;
    }
    if (distance < best) {
      best = distance;
      index = i;
    }
  }
  return static_cast<std::uint8_t>(index);
}

/// The threshold of an 8x8 Bayer matrix, -32 to 31.
int bayer(int x, int y) {
  int value = 0;
  for (int bit = 0; bit < 3; ++bit) {
    const int shift = 2 * (2 - bit);
    value |= (((x ^ y) >> bit & 1) << 1 | (y >> bit & 1)) << shift;
  }
  return value - 32;
}

/// False when there are more than 256 colours.
bool quantize_exactly(const Image& image, IndexedImage& out) {
  std::unordered_map<std::uint32_t, std::uint8_t> known;
  for (std::size_t i = 0; i < image.rgb.size(); i += 3) {
    const std::uint32_t key = static_cast<std::uint32_t>(image.rgb[i]) << 16 |
                              static_cast<std::uint32_t>(image.rgb[i + 1]) << 8 | image.rgb[i + 2];
    const auto [entry, added] = known.try_emplace(key, static_cast<std::uint8_t>(known.size()));
    if (added) {
      if (out.palette.size() == kMaxColours) return false;
      out.palette.push_back({image.rgb[i], image.rgb[i + 1], image.rgb[i + 2]});
    }
    out.indices.push_back(entry->second);
  }
  return true;
}

}  // namespace

IndexedImage quantize(const Image& image) {
  TTT_CHECK(!image.rgb.empty(), internal, "quantisation of an empty picture");
  IndexedImage out;
  out.indices.reserve(image.rgb.size() / 3);
  if (quantize_exactly(image, out)) return out;
  out.palette = median_cut(filled_bins(image));
  out.indices.clear();
  // The nearest colour is looked up once for each colour of seven bits a channel.
  constexpr std::uint16_t kUnknown = kMaxColours;
  std::vector<std::uint16_t> cache(std::size_t{1} << 21, kUnknown);
  constexpr int kAmplitude = 8;  // of the dithering, about the distance of palette colours
  for (int y = 0; y < image.height; ++y) {
    const std::uint8_t* from = image.row(y);
    for (int x = 0; x < image.width; ++x, from += 3) {
      const int offset = bayer(x, y) * kAmplitude / 64;
      Rgb colour;
      for (std::size_t c = 0; c < 3; ++c)
        colour[c] = static_cast<std::uint8_t>(std::clamp(from[c] + offset, 0, 255));
      const std::size_t key = std::size_t{colour[0]} >> 1 << 14 | std::size_t{colour[1]} >> 1 << 7 |
                              std::size_t{colour[2]} >> 1;
      if (cache[key] == kUnknown) cache[key] = nearest(out.palette, colour);
      out.indices.push_back(static_cast<std::uint8_t>(cache[key]));
    }
  }
  return out;
}

}  // namespace ttt
