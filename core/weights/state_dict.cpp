// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/weights/state_dict.h"

#include "core/error.h"
#include "core/log.h"
#include "core/weights/torch_dtype.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <fnmatch.h>
#include <unordered_set>

namespace ttt {
namespace {

constexpr std::size_t kShown = 10;

/// Names of one kind of disagreement.
struct Group {
  const char* title;
  std::vector<std::string> lines;
};

/// One line: "\n  12 missing: a, b, …".
std::string group_text(const Group& group) {
  const std::size_t shown = std::min(group.lines.size(), kShown);
  std::string text = fmt::format("\n  {} {}: ", group.lines.size(), group.title);
  for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : ", ") + group.lines[i];
  if (group.lines.size() > shown)
    text += fmt::format(", … and {} more", group.lines.size() - shown);
  return text;
}

std::string stored_type(const TensorInfo& info) {
  return std::string(to_string(info.dtype));
}

std::string wanted_type(const at::Tensor& tensor) {
  const std::optional<DType> dtype = dtype_of(tensor.scalar_type());
  return dtype ? std::string(to_string(*dtype)) : c10::toString(tensor.scalar_type());
}

/// Compares names, shapes and types; fills the report, and the groups with what doesn't fit.
class Comparison {
 public:
  Comparison(const WeightFile& file, std::span<const ParameterSlot> slots,
             const LoadOptions& options)
      : file_(file), options_(options) {
    std::unordered_set<std::string> wanted;
    for (const ParameterSlot& slot : slots) {
      TTT_CHECK(wanted.insert(slot.name).second, internal,
                "the model has two parameters of one name", slot.name);
      compare(slot);
    }
    for (const TensorInfo& info : file.tensors())
      if (wanted.count(info.name) == 0) note_unexpected(info.name);
  }

  bool fits() const {
    return missing_.lines.empty() && unexpected_.lines.empty() && shape_.lines.empty() &&
           type_.lines.empty();
  }
  [[noreturn]] void fail() const;

  LoadReport report;
  std::vector<const ParameterSlot*> matched;

 private:
  void compare(const ParameterSlot& slot) {
    const TensorInfo* info = file_.find(slot.name);
    if (info == nullptr) {
      if (matches_any(slot.name, options_.ignored)) return;
      if (matches_any(slot.name, options_.allow_missing))
        report.missing.push_back(slot.name);
      else
        missing_.lines.push_back(printable(slot.name));
      return;
    }
    if (matches_any(slot.name, options_.ignored)) {
      report.ignored.push_back(slot.name);
      return;
    }
    const std::vector<std::int64_t> wanted = slot.destination.sizes().vec();
    const bool same_type = scalar_type(info->dtype) == slot.destination.scalar_type();
    if (info->shape != wanted) {
      shape_.lines.push_back(fmt::format("{} ({} in the file, {} in the model)",
                                         printable(slot.name), shape_text(info->shape),
                                         shape_text(wanted)));
    } else if (!same_type && !(is_floating(info->dtype) && slot.destination.is_floating_point())) {
      type_.lines.push_back(fmt::format("{} ({} in the file, {} in the model)",
                                        printable(slot.name), stored_type(*info),
                                        wanted_type(slot.destination)));
    } else {
      if (!same_type) report.converted.push_back(slot.name);
      matched.push_back(&slot);
    }
  }

  void note_unexpected(const std::string& name) {
    if (matches_any(name, options_.ignored))
      report.ignored.push_back(name);
    else if (matches_any(name, options_.allow_unexpected))
      report.unexpected.push_back(name);
    else
      unexpected_.lines.push_back(printable(name));
  }

  const WeightFile& file_;
  const LoadOptions& options_;
  Group missing_{"missing", {}};
  Group unexpected_{"unexpected", {}};
  Group shape_{"of another shape", {}};
  Group type_{"of another type", {}};
};

void Comparison::fail() const {
  // The file comes first: after a list it would be overlooked.
  std::string text = "the weights in " + printable(file_.path().string()) + " don't fit the model";
  for (const Group* group : {&missing_, &unexpected_, &shape_, &type_})
    if (!group->lines.empty()) text += group_text(*group);
  std::string hint = options_.suggestion ? options_.suggestion() : "";
  if (hint.empty()) {
    if (!shape_.lines.empty() || !type_.lines.empty())
      hint = "choose the model that these weights were saved from with --model";
    else if (file_.available_keys().size() > 1)
      hint = "choose the right --model, or another dictionary of the file with --weights-key";
    else
      hint =
          "choose the right --model, or accept the difference with --allow-missing PATTERN or "
          "--allow-unexpected PATTERN";
  }
  throw Error(ErrorKind::weights, text, "", hint);
}

/// Elements whose exponent bits are all ones, which means infinite or NaN.
template <typename Bits>
std::int64_t count_exponent(const at::Tensor& tensor, Bits mask) {
  const auto* data = static_cast<const Bits*>(tensor.const_data_ptr());
  const std::int64_t size = tensor.numel();
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < size; ++i) count += static_cast<Bits>(data[i] & mask) == mask;
  return count;
}

}  // namespace

std::int64_t count_non_finite(const at::Tensor& tensor) {
  const at::Tensor values = tensor.cpu().contiguous();
  switch (values.scalar_type()) {
    case at::kDouble:
      return count_exponent<std::uint64_t>(values, 0x7FF0'0000'0000'0000);
    case at::kFloat:
      return count_exponent<std::uint32_t>(values, 0x7F80'0000);
    case at::kHalf:
      return count_exponent<std::uint16_t>(values, 0x7C00);
    case at::kBFloat16:
      return count_exponent<std::uint16_t>(values, 0x7F80);
    case at::kFloat8_e5m2:
      return count_exponent<std::uint8_t>(values, 0x7C);
    case at::kFloat8_e4m3fn:  // has no infinity; NaN is all ones
      return count_exponent<std::uint8_t>(values, 0x7F);
    default:
      return 0;
  }
}

bool matches_any(const std::string& name, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
  });
}

std::string summary(const LoadReport& report) {
  std::string text = fmt::format("loaded {} tensors", report.loaded);
  const auto add = [&](const std::vector<std::string>& names, const char* what) {
    if (!names.empty())
      text += fmt::format(", {} {} ({}{})", names.size(), what, printable(names.front()),
                          names.size() > 1 ? ", …" : "");
  };
  add(report.converted, "converted to another type");
  add(report.missing, "missing as allowed");
  add(report.unexpected, "not used as allowed");
  add(report.ignored, "recomputed by the model instead");
  return text;
}

LoadReport load_state_dict(const WeightFile& file, std::span<const ParameterSlot> slots,
                           const LoadOptions& options) {
  Comparison comparison(file, slots, options);
  if (!comparison.fits()) comparison.fail();
  Group non_finite{"with values that are NaN or infinite", {}};
  const c10::NoGradGuard no_grad;
  // One at a time: holding all of them would double the memory and the time to start.
  for (const ParameterSlot* slot : comparison.matched) {
    const at::Tensor value = file.read(slot->name).to(slot->destination.scalar_type());
    const std::int64_t count = options.allow_non_finite ? 0 : count_non_finite(value);
    if (count > 0)
      non_finite.lines.push_back(
          fmt::format("{} ({} of {})", printable(slot->name), count, value.numel()));
    slot->destination.copy_(value);
  }
  TTT_CHECK(non_finite.lines.empty(), weights,
            "the weights in " + printable(file.path().string()) + " are unusable" +
                group_text(non_finite),
            "", "take an earlier checkpoint, or a type with more range if they were converted");
  comparison.report.loaded = comparison.matched.size();
  return std::move(comparison.report);
}

}  // namespace ttt
