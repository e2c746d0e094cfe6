// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "nvs/output/metrics.h"

#include "core/error.h"

#include <spdlog/fmt/fmt.h>

#include <array>
#include <cmath>
#include <limits>

namespace ttt::nvs {
namespace {

constexpr int kWindow = 11;

const std::array<double, kWindow>& gaussian() {
  static const std::array<double, kWindow> weights = [] {
    constexpr double kSigma = 1.5;
    std::array<double, kWindow> out{};
    double sum = 0;
    for (int i = 0; i < kWindow; ++i) {
      const double x = i - kWindow / 2;
      out[static_cast<std::size_t>(i)] = std::exp(-x * x / (2 * kSigma * kSigma));
      sum += out[static_cast<std::size_t>(i)];
    }
    for (double& weight : out) weight /= sum;
    return out;
  }();
  return weights;
}

/// The five moments that the formula needs, each summed with the window.
using Moments = std::array<double, 5>;

Moments moments(double a, double b) {
  return {a, b, a * a, b * b, a * b};
}

double similarity(const Moments& m) {
  constexpr double kC1 = 0.01 * 0.01, kC2 = 0.03 * 0.03;
  const double variance_a = m[2] - m[0] * m[0];
  const double variance_b = m[3] - m[1] * m[1];
  const double covariance = m[4] - m[0] * m[1];
  return (2 * m[0] * m[1] + kC1) * (2 * covariance + kC2) /
         ((m[0] * m[0] + m[1] * m[1] + kC1) * (variance_a + variance_b + kC2));
}

/// The mean over one plane; sides are at least the window's.
double plane_ssim(const float* a, const float* b, int width, int height) {
  const auto& weights = gaussian();
  const auto columns = static_cast<std::size_t>(width - kWindow + 1);
  const auto rows = static_cast<std::size_t>(height);
  const auto stride = static_cast<std::size_t>(width);
  std::vector<Moments> filtered(rows * columns);  // along x
  for (std::size_t y = 0; y < rows; ++y)
    for (std::size_t x = 0; x < columns; ++x) {
      Moments sum{};
      for (std::size_t k = 0; k < kWindow; ++k) {
        const Moments m = moments(a[y * stride + x + k], b[y * stride + x + k]);
        for (std::size_t i = 0; i < m.size(); ++i) sum[i] += weights[k] * m[i];
      }
      filtered[y * columns + x] = sum;
    }
  double total = 0;
  for (std::size_t y = 0; y + kWindow <= rows; ++y)
    for (std::size_t x = 0; x < columns; ++x) {
      Moments sum{};
      for (std::size_t k = 0; k < kWindow; ++k)
        for (std::size_t i = 0; i < sum.size(); ++i)
          sum[i] += weights[k] * filtered[(y + k) * columns + x][i];
      total += similarity(sum);
    }
  return total / (static_cast<double>(columns) * (height - kWindow + 1));
}

/// Empty unless all views have it.
std::optional<double> mean_of(const std::vector<ViewMetrics>& views,
                              std::optional<double> ViewMetrics::*value) {
  double sum = 0;
  for (const ViewMetrics& view : views) {
    if (!(view.*value).has_value()) return {};
    sum += *(view.*value);
  }
  return views.empty() ? std::nullopt : std::optional(sum / static_cast<double>(views.size()));
}

}  // namespace

double mean_squared_error(std::span<const float> a, std::span<const float> b) {
  TTT_CHECK(a.size() == b.size() && !a.empty(), internal, "pictures to compare differ in size");
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += difference * difference;
  }
  return sum / static_cast<double>(a.size());
}

double psnr_of(double mean_squared_error) {
  return mean_squared_error == 0 ? std::numeric_limits<double>::infinity()
                                 : -10 * std::log10(mean_squared_error);
}

std::optional<double> ssim(std::span<const float> a, std::span<const float> b, int width,
                           int height) {
  const std::size_t plane = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  TTT_CHECK(a.size() == 3 * plane && b.size() == 3 * plane, internal,
            "pictures to compare differ in size");
  if (width < kWindow || height < kWindow) return {};
  double sum = 0;
  for (std::size_t c = 0; c < 3; ++c)
    sum += plane_ssim(a.data() + c * plane, b.data() + c * plane, width, height);
  return sum / 3;
}

ViewMetrics measure_view(std::span<const float> rendered, std::span<const float> truth, int width,
                         int height) {
  ViewMetrics metrics;
  metrics.mse = mean_squared_error(rendered, truth);
  metrics.psnr = psnr_of(metrics.mse);
  metrics.ssim = ssim(rendered, truth, width, height);
  return metrics;
}

double MetricsReport::mean_psnr() const {
  double sum = 0;
  for (const ViewMetrics& view : views) sum += view.psnr;
  return views.empty() ? 0 : sum / static_cast<double>(views.size());
}

std::optional<double> MetricsReport::mean_ssim() const {
  return mean_of(views, &ViewMetrics::ssim);
}

std::optional<double> MetricsReport::mean_lpips() const {
  return mean_of(views, &ViewMetrics::lpips);
}

double MetricsReport::psnr_of_mean_error() const {
  double sum = 0;
  for (const ViewMetrics& view : views) sum += view.mse;
  return views.empty() ? 0 : psnr_of(sum / static_cast<double>(views.size()));
}

}  // namespace ttt::nvs
