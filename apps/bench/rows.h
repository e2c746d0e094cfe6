// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/bench/measure.h"
#include "apps/bench/plan.h"
#include "apps/common/result_format.h"

namespace ttt::cli {

/// What was found out about a subject.
struct Measurement {
  Samples samples;
  double operations = 0, bytes = 0;  ///< of a pass; 0: not counted
  double roofline_gflops = 0;        ///< 0: not measured
  std::optional<std::int64_t> memory, peak_memory;
};

/// The fields by which rows of two files are matched.
const std::vector<std::string>& identity_fields();

/// The row of a subject, as in JSON lines.
nlohmann::ordered_json measurement_row(const Subject& subject, c10::Device device,
                                       const Measurement& measurement);
nlohmann::ordered_json failure_row(const Subject& subject, c10::Device device,
                                   const std::string& error);

/// What a row is about, in words: "vit3_t 224x224 b8 training, fp32, cpu".
std::string subject_text(const nlohmann::ordered_json& row);

/// Renders such rows; tables align names up to this width.
std::unique_ptr<ResultRenderer> make_bench_renderer(ResultFormat format, std::size_t name_width);

/// Renders the rows of a comparison.
std::unique_ptr<ResultRenderer> make_comparison_renderer(ResultFormat format,
                                                         std::size_t name_width);

}  // namespace ttt::cli
