// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/selftest/plan.h"

#include "core/error.h"
#include "core/nearest.h"
#include "vision/selftest.h"

#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <utility>

namespace ttt::cli {
namespace {

using ops::Backend;
using ops::Variant;

constexpr std::array<std::pair<std::string_view, at::ScalarType>, 3> kTypes{
    {{"fp32", at::ScalarType::Float},
     {"bf16", at::ScalarType::BFloat16},
     {"fp16", at::ScalarType::Half}}};

template <typename T>
bool contains(const std::vector<T>& list, const T& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

void check_names(const std::vector<std::string>& asked, const std::vector<std::string>& known,
                 std::string_view kind, const std::string& flag) {
  for (const std::string& name : asked) {
    if (contains(known, name)) continue;
    const std::string nearest = nearest_name(name, known);
    throw Error(ErrorKind::usage, fmt::format("unknown {} \"{}\"", kind, printable(name, 80)), flag,
                nearest.empty() ? fmt::format("there are {}", fmt::join(known, ", "))
                                : fmt::format("did you mean {}?", nearest));
  }
}

bool any_cuda_op() {
  const std::vector<ops::Op>& all = ops::registry();
  return std::any_of(all.begin(), all.end(),
                     [](const ops::Op& op) { return !op.support().cuda.empty(); });
}

/// The device of the cuda backend; the CPU where there is no GPU, or the kernels are emulated.
DeviceChoice cuda_device(const SelftestOptions& options) {
  if (ops::cuda::device_type() == c10::DeviceType::CPU)
    return {c10::Device(c10::DeviceType::CPU), "emulated"};
  const bool automatic = options.device == "auto";
  const bool demanded = options.backend == "cuda";
  const DeviceChoice choice = choose_device(demanded && automatic ? "cuda" : options.device);
  const bool gpu = choice.device.is_cuda();
  const std::string flags =
      fmt::format("--backend {}, --device {}", options.backend, options.device);
  TTT_CHECK(gpu || !demanded, device, "the cuda backend needs a GPU", flags, "leave out --device");
  TTT_CHECK(!gpu || automatic || demanded || options.backend == "auto", device,
            fmt::format("the {} backend doesn't run on GPUs", options.backend), flags,
            "leave out --device");
  TTT_CHECK(!gpu || (automatic && !demanded) || any_cuda_op(), device,
            "this build has no CUDA operations", flags, "use a build with CUDA, or --device cpu");
  return choice;
}

void add_cpu(SelftestPlan& plan, std::vector<Variant>& variants) {
  for (const ops::CpuIsa isa : ops::kCpuIsas) {
    const Variant variant{.backend = Backend::cpu, .isa = isa};
    if (isa <= ops::best_cpu_isa()) {
      variants.push_back(variant);
    } else {
      plan.unavailable.push_back({variant, "this processor or build can't run it"});
    }
  }
}

void add_cuda(SelftestPlan& plan, const SelftestOptions& options, std::vector<Variant>& variants) {
  const Variant variant{.backend = Backend::cuda, .device = plan.device.device};
  std::string problem;
  if (plan.device.device.type() != ops::cuda::device_type())
    problem = options.device == "cpu" ? "--device cpu is asked for" : plan.device.reason;
  if (problem.empty() && !any_cuda_op()) problem = "this build has no CUDA operations";
  if (problem.empty()) {
    variants.push_back(variant);
  } else {
    plan.unavailable.push_back({variant, problem});
  }
}

std::vector<Variant> available_variants(SelftestPlan& plan, const SelftestOptions& options) {
  const auto asked = [&](const char* backend) {
    return options.backend == "auto" || options.backend == backend;
  };
  std::vector<Variant> variants;
  if (asked("reference")) variants.push_back({.backend = Backend::reference});
  if (asked("cpu")) add_cpu(plan, variants);
  if (asked("cuda")) add_cuda(plan, options, variants);
  return variants;
}

void add_check(SelftestPlan& plan, Check check, const std::vector<Variant>& variants,
               const std::function<bool(const Variant&)>& has) {
  std::copy_if(variants.begin(), variants.end(), std::back_inserter(check.variants), has);
  if (!check.variants.empty()) plan.checks.push_back(std::move(check));
}

void add_ops(SelftestPlan& plan, const SelftestOptions& options,
             const std::vector<Variant>& variants) {
  for (const ops::Op& op : ops::registry()) {
    if (options.op.empty() ? !options.model.empty() : !contains(options.op, std::string(op.name)))
      continue;
    for (const auto& [word, dtype] : kTypes) {
      if (options.dtype != "all" && options.dtype != word) continue;
      add_check(plan, {true, std::string(op.name), dtype, {}}, variants,
                [&op = op, dtype = dtype](const Variant& variant) {
                  return contains(ops::checked_types(op, variant.backend), dtype);
                });
    }
  }
}

void add_models(SelftestPlan& plan, const SelftestOptions& options,
                const std::vector<Variant>& variants) {
  for (const vision::CheckedModel& model : vision::checked_models()) {
    const bool asked = options.model.empty() ? options.op.empty() && (model.quick || options.full)
                                             : contains(options.model, std::string(model.name));
    if (!asked) continue;
    for (const auto& [word, dtype] : kTypes) {
      if (options.dtype != "all" && options.dtype != word) continue;
      if (!contains(vision::checked_model_types(), dtype)) continue;
      // Models are compared with the reference backend in their own type only.
      add_check(plan, {false, std::string(model.name), dtype, {}}, variants,
                [](const Variant& variant) { return variant.backend != Backend::reference; });
    }
  }
}

}  // namespace

std::size_t SelftestPlan::comparisons() const {
  std::size_t count = 0;
  for (const Check& check : checks) count += check.variants.size();
  return count;
}

SelftestPlan make_plan(const SelftestOptions& options) {
  std::vector<std::string> op_names, model_names;
  for (const ops::Op& op : ops::registry()) op_names.emplace_back(op.name);
  for (const vision::CheckedModel& model : vision::checked_models())
    model_names.emplace_back(model.name);
  check_names(options.op, op_names, "operation", "--op");
  check_names(options.model, model_names, "model", "--model");
  ops::cpu_isa();  // refuses a wrong TTT_CPU_ISA, which no check would look at
  SelftestPlan plan;
  plan.device = cuda_device(options);
  const std::vector<Variant> variants = available_variants(plan, options);
  add_ops(plan, options, variants);
  add_models(plan, options, variants);
  TTT_CHECK(!plan.checks.empty(), device,
            "nothing to check: none of it runs on this backend in this type",
            fmt::format("--backend {}, --dtype {}", options.backend, options.dtype),
            "`ttt list ops` shows the types of each backend");
  return plan;
}

std::vector<ops::CheckResult> run_check(const Check& check, bool full) {
  if (!check.is_op) return vision::check_model(check.name, check.dtype, check.variants);
  for (const ops::Op& op : ops::registry())
    if (op.name == check.name) return ops::check_op(op, check.dtype, check.variants, full);
  throw Error(ErrorKind::internal, "no such operation", check.name);
}

std::string type_name(at::ScalarType type) {
  for (const auto& [word, known] : kTypes)
    if (known == type) return std::string(word);
  return c10::toString(type);
}

}  // namespace ttt::cli
