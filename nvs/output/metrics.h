// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ttt::nvs {

/// Mean of the squared differences, in double. Both sides hold the same number of values.
double mean_squared_error(std::span<const float> a, std::span<const float> b);
/// -10 log10 of a mean squared error of values in 0 to 1; infinite for 0.
double psnr_of(double mean_squared_error);

/// Structural similarity of two pictures [3,H,W] with values in 0 to 1 (Wang et al. 2004): Gaussian
/// window of 11x11 with sigma 1.5, K1 = 0.01, K2 = 0.03, dynamic range 1, sample moments without
/// Bessel's correction, mean over the channels and over the positions at which the window lies
/// inside the picture. Empty for pictures with a side below 11.
std::optional<double> ssim(std::span<const float> a, std::span<const float> b, int width,
                           int height);

struct ViewMetrics {
  int index = 0;     ///< of the frame
  std::string file;  ///< the frame's picture
  double mse = 0;
  double psnr = 0;  ///< of the values as rendered, not clamped or rounded
  std::optional<double> ssim;
  std::optional<double> lpips;  ///< where its weights were given
  bool leaked = false;          ///< the target is an input too
};

/// One view's metrics; planes are [3,H,W].
ViewMetrics measure_view(std::span<const float> rendered, std::span<const float> truth, int width,
                         int height);

struct MetricsReport {
  std::string scene;
  std::vector<ViewMetrics> views;

  /// Means over the views; 0 without views. PSNR is infinite when one view is exact.
  double mean_psnr() const;
  std::optional<double> mean_ssim() const;
  std::optional<double> mean_lpips() const;
  /// What the official script prints: the PSNR of the error over all views.
  double psnr_of_mean_error() const;
};

/// {"schema": 1, "scene", "views": [{"index", "file", "psnr", "ssim"}], "mean": {"psnr", "ssim"},
/// "psnr_of_mean_error", "inputs_measured" where there was a leak}. Views and mean have "lpips" too
/// where it was measured. Infinite and missing values are null.
std::string metrics_json(const MetricsReport& report);
/// The same rows with the means last, full precision.
std::string metrics_csv(const MetricsReport& report);

/// Writes one of them by the file's suffix, .json or .csv, else Error(usage).
void write_metrics(const std::string& path, const MetricsReport& report);
/// Checks before the work that write_metrics() can do that. Throws Error(usage) or Error(output).
void check_metrics_path(const std::string& path, bool overwrite);

}  // namespace ttt::nvs
