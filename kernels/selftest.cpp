// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/selftest.h"

#include "core/cancel.h"
#include "core/error.h"
#include "core/relative_error.h"

#include <ATen/ATen.h>
#include <c10/util/Exception.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <utility>

namespace ttt::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Results of one case.
struct Results {
  Tensors outputs;
  Tensors gradients;
};

Tensors each(const Tensors& tensors, const std::function<at::Tensor(const at::Tensor&)>& change) {
  Tensors result;
  for (const at::Tensor& tensor : tensors) result.push_back(change(tensor));
  return result;
}

Results run_case(const OpCase& op_case, const Tensors& inputs, Backend backend) {
  Results results{op_case.run(inputs, backend), {}};
  if (op_case.differentiable && !op_case.large)
    results.gradients = gradients(op_case, inputs, backend);
  return results;
}

/// The reference's results in double, in the types that it would give them in.
Results exact_results(const OpCase& op_case, const Tensors& inputs, const Results& like) {
  const Tensors exact = each(inputs, [](const at::Tensor& x) { return x.to(at::kDouble); });
  Results results = run_case(op_case, exact, Backend::reference);
  const auto take_types = [](Tensors& tensors, const Tensors& types) {
    for (std::size_t i = 0; i < std::min(tensors.size(), types.size()); ++i)
      tensors[i] = tensors[i].to(types[i].scalar_type());
  };
  take_types(results.outputs, like.outputs);
  take_types(results.gradients, like.gradients);
  return results;
}

void compare(std::vector<Deviation>& deviations, const Tensors& actual, const Tensors& expected,
             const std::string& where, const std::function<double(at::ScalarType)>& tolerance) {
  TTT_CHECK(actual.size() == expected.size(), internal,
            fmt::format("{} tensors instead of {}", actual.size(), expected.size()), where);
  for (std::size_t i = 0; i < actual.size(); ++i)
    record(deviations, actual[i], expected[i], tolerance(expected[i].scalar_type()),
           fmt::format("{} {}", where, i));
}

void check_case(const OpCase& op_case, const Tensors& inputs, const Results& expected,
                const Variant& variant, CheckResult& result) {
  std::optional<ScopedCpuIsa> scoped;
  if (variant.isa) scoped.emplace(*variant.isa);
  const at::ScalarType dtype = inputs[0].scalar_type();
  const Tensors there =
      each(inputs, [&](const at::Tensor& x) { return case_on_device(x, variant.device); });
  const auto on_cpu = [](const at::Tensor& x) { return x.cpu(); };
  const Results actual = run_case(op_case, there, variant.backend);
  compare(
      result.outputs, each(actual.outputs, on_cpu), expected.outputs, op_case.name + ", output",
      [&](at::ScalarType type) { return output_tolerance(op_case, variant.backend, dtype, type); });
  compare(result.gradients, each(actual.gradients, on_cpu), expected.gradients,
          op_case.name + ", gradient of input", [&](at::ScalarType type) {
            return gradient_tolerance(op_case, variant.backend, dtype, type);
          });
  for (std::size_t i = 0; i < inputs.size(); ++i)
    TTT_CHECK(inputs[i].equal(there[i].cpu()), internal, fmt::format("input {} was changed", i),
              op_case.name);
}

std::string first_line(std::string_view text) {
  return printable(text.substr(0, text.find('\n')));
}

}  // namespace

std::string to_string(const Variant& variant) {
  std::string text(to_string(variant.backend));
  if (variant.isa) text += " " + std::string(to_string(*variant.isa));
  return text;
}

void record(std::vector<Deviation>& deviations, const Deviation& deviation) {
  Deviation added = deviation;
  if (std::isnan(added.error)) added.error = kInfinity;
  for (Deviation& present : deviations) {
    if (present.type != added.type) continue;
    if (added.share() > present.share()) present = std::move(added);
    return;
  }
  deviations.push_back(std::move(added));
}

void record(std::vector<Deviation>& deviations, const at::Tensor& actual,
            const at::Tensor& expected, double tolerance, const std::string& where) {
  Deviation deviation{expected.scalar_type(), kInfinity, tolerance, where};
  if (actual.scalar_type() != expected.scalar_type()) {
    deviation.where += fmt::format(" is {}", c10::toString(actual.scalar_type()));
  } else if (actual.sizes() != expected.sizes()) {
    deviation.where += ", has another shape";
  } else if (!actual.isfinite().all().item<bool>()) {
    deviation.where += ", not finite";
  } else {
    deviation.error = relative_to_max(actual, expected);
  }
  record(deviations, deviation);
}

const Deviation* worst(const std::vector<Deviation>& deviations) {
  const auto largest = std::max_element(
      deviations.begin(), deviations.end(),
      [](const Deviation& a, const Deviation& b) { return a.share() < b.share(); });
  return largest == deviations.end() ? nullptr : &*largest;
}

bool CheckResult::passed() const {
  const auto within = [](const Deviation& deviation) { return deviation.within(); };
  return problem.empty() && cases > 0 && std::all_of(outputs.begin(), outputs.end(), within) &&
         std::all_of(gradients.begin(), gradients.end(), within);
}

std::vector<at::ScalarType> checked_types(const Op& op, Backend backend) {
  if (backend == Backend::cuda) return op.support().cuda;
  if (backend == Backend::cpu) return op.support().cpu;
  return {at::kFloat, at::kBFloat16, at::kHalf};
}

std::string failure_of(const std::function<void()>& call) {
  try {
    call();
    return {};
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::memory) throw;
    return error.what();
  } catch (const c10::Error& error) {
    return first_line(error.what_without_backtrace());
  } catch (const std::exception& error) {
    return first_line(error.what());
  }
}

std::vector<CheckResult> check_op(const Op& op, at::ScalarType dtype,
                                  const std::vector<Variant>& variants, bool large) {
  std::vector<CheckResult> results(variants.size());
  const auto note = [](CheckResult& result, const std::string& problem) {
    if (result.problem.empty()) result.problem = problem;
  };
  const bool only_reference =
      std::all_of(variants.begin(), variants.end(),
                  [](const Variant& variant) { return variant.backend == Backend::reference; });
  for (const OpCase& op_case : op.cases()) {
    // The reference takes long for large ones, and has nothing in it that depends on the size.
    if (op_case.large && (!large || only_reference)) continue;
    TTT_CHECK(!cancel_requested(), interrupted, "interrupted", std::string(op.name),
              "run it again");
    Tensors inputs;
    Results expected;
    const std::string failure = failure_of([&] {
      inputs = op_case.inputs(dtype);
      expected = run_case(op_case, inputs, Backend::reference);
    });
    for (std::size_t i = 0; i < variants.size(); ++i) {
      const bool itself = variants[i].backend == Backend::reference;
      if (op_case.large && itself) continue;
      ++results[i].cases;
      if (!failure.empty()) {
        note(results[i], "the reference failed: " + failure);
        continue;
      }
      note(results[i], failure_of([&] {
             check_case(op_case, inputs,
                        itself ? exact_results(op_case, inputs, expected) : expected, variants[i],
                        results[i]);
           }));
    }
  }
  return results;
}

}  // namespace ttt::ops
