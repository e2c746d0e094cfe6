// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/selftest/rows.h"

#include "apps/common/text.h"
#include "core/error.h"

#include <spdlog/fmt/ranges.h>

#include <limits>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDigits = 3;

/// The deviation to blame, outputs before gradients; null for none, and where a problem explains
/// it all.
const ops::Deviation* blamed(const ops::CheckResult& result, bool* in_gradient) {
  if (!result.problem.empty()) return nullptr;
  for (const std::vector<ops::Deviation>* list : {&result.outputs, &result.gradients}) {
    *in_gradient = list == &result.gradients;
    if (const ops::Deviation* found = ops::worst(*list); found != nullptr && !found->within())
      return found;
  }
  return nullptr;
}

/// Why a comparison failed, without its place.
std::string failure_text(const ops::CheckResult& result) {
  bool in_gradient = false;
  if (const ops::Deviation* deviation = blamed(result, &in_gradient))
    return fmt::format("{}: error {:.3g}, tolerance {:.3g}", in_gradient ? "gradients" : "outputs",
                       deviation->error, deviation->tolerance);
  return result.problem.empty() ? "nothing was compared" : result.problem;
}

std::string failure_place(const ops::CheckResult& result) {
  bool in_gradient = false;
  const ops::Deviation* deviation = blamed(result, &in_gradient);
  return deviation != nullptr ? deviation->where : "";
}

Json deviations_json(const std::vector<ops::Deviation>& deviations) {
  Json list = Json::array();
  for (const ops::Deviation& deviation : deviations)
    list.push_back({{"type", type_name(deviation.type)},
                    {"max_error", significant(deviation.error, kDigits)},
                    {"tolerance", significant(deviation.tolerance, kDigits)},
                    {"where", deviation.where}});
  return list;
}

Json isa_json(const ops::Variant& variant) {
  return variant.isa ? Json(ops::to_string(*variant.isa)) : Json(nullptr);
}

}  // namespace

Json comparison_row(const Check& check, const ops::Variant& variant,
                    const ops::CheckResult& result) {
  Json row{{"schema", kSchema},
           {"kind", check.is_op ? "op" : "model"},
           {"name", check.name},
           {"backend", ops::to_string(variant.backend)},
           {"isa", isa_json(variant)},
           {"device", variant.device.str()},
           {"dtype", type_name(check.dtype)},
           {"status", result.passed() ? "ok" : "error"}};
  if (!result.passed()) {
    const std::string place = failure_place(result);
    row["error"] = failure_text(result) + (place.empty() ? "" : " (" + place + ")");
  }
  row["cases"] = result.cases;
  row["outputs"] = deviations_json(result.outputs);
  row["gradients"] = deviations_json(result.gradients);
  return row;
}

Json unavailable_row(const UnavailableVariant& unavailable) {
  return {{"schema", kSchema},
          {"kind", "backend"},
          {"name", ops::to_string(unavailable.variant)},
          {"backend", ops::to_string(unavailable.variant.backend)},
          {"isa", isa_json(unavailable.variant)},
          {"status", "unavailable"},
          {"error", "not available: " + unavailable.reason}};
}

void SelftestTally::add(const Check& check, const ops::Variant& variant,
                        const ops::CheckResult& result) {
  ++done_;
  if (result.passed()) return;
  ++failed_;
  bool in_gradient = false;
  const ops::Deviation* deviation = blamed(result, &in_gradient);
  const Failure failure{
      fmt::format("{}, {}, {}, {}", check.name, ops::to_string(variant), type_name(check.dtype),
                  failure_text(result)),
      failure_place(result),
      deviation != nullptr ? deviation->share() : std::numeric_limits<double>::infinity(),
      variant.backend == ops::Backend::reference};
  auto& worst = check.is_op ? ops_ : models_;
  const auto [entry, added] = worst.try_emplace(check.name, failure);
  if (!added && failure.share > entry->second.share) entry->second = failure;
}

std::vector<std::string> SelftestTally::culprits() const {
  std::vector<std::string> names;
  for (const auto& [name, failure] : ops_.empty() ? models_ : ops_) names.push_back(name);
  return names;
}

void SelftestTally::throw_failure() const {
  if (failed_ == 0) return;
  const auto& failures = ops_.empty() ? models_ : ops_;
  auto worst = failures.begin();
  for (auto entry = failures.begin(); entry != failures.end(); ++entry)
    if (entry->second.share > worst->second.share) worst = entry;
  std::vector<std::string> others = culprits();
  std::erase(others, worst->first);
  const std::string also =
      others.empty() ? "" : fmt::format("; also wrong: {}", fmt::join(others, ", "));
  throw Error(ErrorKind::check,
              fmt::format("{} of {} checks failed; {}{}", failed_, done_, worst->second.what, also),
              worst->second.where,
              worst->second.in_reference
                  ? "report this with the output of `ttt selftest --format json`"
                  : "use --backend reference, and report this with the output of `ttt selftest "
                    "--format json`");
}

}  // namespace ttt::cli
