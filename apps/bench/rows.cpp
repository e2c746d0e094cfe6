// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/rows.h"

#include "apps/common/memory.h"
#include "apps/common/text.h"
#include "core/error.h"
#include "kernels/support/cpu_isa.h"

#include <spdlog/fmt/fmt.h>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDigits = 5;

Json number(double value) {
  return value > 0 ? Json(significant(value, kDigits)) : Json(nullptr);
}

Json count(std::int64_t value) {
  return value > 0 ? Json(value) : Json(nullptr);
}

Json row_of(const Subject& subject, c10::Device device) {
  const bool gpu = device.type() != c10::DeviceType::CPU;
  const bool vectorised = !gpu && subject.backend != ops::Backend::reference;
  return {{"schema", kSchema},
          {"kind", subject.is_op ? "op" : "model"},
          {"name", subject.name},
          {"case", subject.op_case.empty() ? Json(nullptr) : Json(subject.op_case)},
          {"pass", subject.training ? "training" : "forward"},
          {"backend", ops::to_string(subject.backend)},
          {"isa", vectorised ? Json(ops::to_string(ops::cpu_isa())) : Json(nullptr)},
          {"device", device.str()},
          {"dtype", bench_type_name(subject.dtype)},
          {"threads", subject.threads},
          {"batch", count(subject.batch)},
          {"width", count(subject.width)},
          {"height", count(subject.height)}};
}

}  // namespace

const std::vector<std::string>& identity_fields() {
  static const std::vector<std::string> fields{"kind",    "name",   "case",  "pass",
                                               "backend", "device", "dtype", "threads",
                                               "batch",   "width",  "height"};
  return fields;
}

Json measurement_row(const Subject& subject, c10::Device device, const Measurement& measurement) {
  Json row = row_of(subject, device);
  const Samples& samples = measurement.samples;
  const double median = samples.quantile(0.5);
  const double gflops = measurement.operations / median * 1e-9;
  row["status"] = "ok";
  row["samples"] = samples.seconds.size();
  row["passes_per_sample"] = samples.passes;
  row["time_ms"] = number(1e3 * median);
  row["q1_ms"] = number(1e3 * samples.quantile(0.25));
  row["q3_ms"] = number(1e3 * samples.quantile(0.75));
  row["min_ms"] = number(1e3 * samples.quantile(0));
  row["max_ms"] = number(1e3 * samples.quantile(1));
  row["gflops"] = number(gflops);
  row["roofline_gflops"] = number(measurement.roofline_gflops);
  row["roofline_share"] = measurement.roofline_gflops > 0
                              ? number(gflops / measurement.roofline_gflops)
                              : Json(nullptr);
  row["gbytes_per_s"] = number(measurement.bytes / median * 1e-9);
  row["images_per_s"] = number(static_cast<double>(subject.batch) / median);
  row["memory_mib"] = mebibytes(measurement.memory);
  row["peak_memory_mib"] = mebibytes(measurement.peak_memory);
  return row;
}

Json failure_row(const Subject& subject, c10::Device device, const std::string& error) {
  Json row = row_of(subject, device);
  row["status"] = "error";
  row["error"] = utf8_text(error);
  return row;
}

std::string subject_text(const Json& row) {
  const auto text = [&](const char* key) {
    const auto found = row.find(key);
    return found != row.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const auto whole = [&](const char* key) {
    const auto found = row.find(key);
    return found != row.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
  };
  std::string result = text("name");
  if (!text("case").empty()) result += fmt::format(" {}", text("case"));
  if (whole("batch") > 0)
    result += fmt::format(" {}x{} b{}", whole("width"), whole("height"), whole("batch"));
  if (text("pass") != "forward") result += fmt::format(" {}", text("pass"));
  return printable(result);
}

}  // namespace ttt::cli
