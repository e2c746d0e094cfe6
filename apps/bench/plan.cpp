// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/plan.h"

#include "apps/bench/novel_views.h"
#include "apps/common/parse_values.h"
#include "core/error.h"
#include "core/nearest.h"
#include "kernels/registry.h"
#include "nvs/model/config.h"
#include "vision/classifier.h"

#include <ATen/Parallel.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <fnmatch.h>
#include <optional>
#include <set>

namespace ttt::cli {
namespace {

using Texts = std::vector<std::string>;

constexpr std::int64_t kMaxBatch = 65536;
constexpr std::int64_t kMaxThreads = 1024;
constexpr int kNovelViewSide = 256;  // pixels; the models take any size

Texts or_default(const Texts& given, const char* standard) {
  return given.empty() ? Texts{standard} : given;
}

/// The values of all sweeps, parsed.
struct Sweeps {
  std::vector<PixelSize> sizes;  ///< empty: the model's own
  std::vector<std::int64_t> batches;
  std::vector<at::ScalarType> types;
  std::vector<ops::Backend> backends;
  std::vector<int> threads;
  std::vector<bool> passes;  ///< whether it trains
};

Sweeps parse_sweeps(const BenchOptions& options) {
  Sweeps sweeps;
  for (const std::string& text : options.size) sweeps.sizes.push_back(parse_size(text, "--size"));
  for (const std::string& text : or_default(options.batch, "1"))
    sweeps.batches.push_back(parse_integer(text, {1, kMaxBatch}, "--batch"));
  for (const std::string& text : or_default(options.dtype, "fp32"))
    sweeps.types.push_back(vision::parse_compute_dtype(text));
  for (const std::string& text : or_default(options.backend, "auto"))
    sweeps.backends.push_back(ops::parse_backend(text));
  for (const std::string& text : options.threads)
    sweeps.threads.push_back(static_cast<int>(parse_integer(text, {1, kMaxThreads}, "--threads")));
  if (sweeps.threads.empty()) sweeps.threads.push_back(at::get_num_threads());
  if (options.pass != "training") sweeps.passes.push_back(false);
  if (options.pass != "forward") sweeps.passes.push_back(true);
  return sweeps;
}

/// Calls `visit` with a subject for each combination of what operations and models share.
template <typename Visit>
void for_each_combination(const Sweeps& sweeps, const Visit& visit) {
  for (const at::ScalarType dtype : sweeps.types)
    for (const ops::Backend backend : sweeps.backends)
      for (const int threads : sweeps.threads)
        for (const bool training : sweeps.passes) {
          Subject subject;
          subject.training = training;
          subject.backend = backend;
          subject.dtype = dtype;
          subject.threads = threads;
          visit(subject);
        }
}

void check_op_names(const Texts& asked) {
  Texts known;
  for (const ops::Op& op : ops::registry()) known.emplace_back(op.name);
  for (const std::string& name : asked) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string nearest = nearest_name(name, known);
    throw Error(ErrorKind::usage, fmt::format("unknown operation \"{}\"", printable(name, 80)),
                "--op",
                nearest.empty() ? fmt::format("there are {}", fmt::join(known, ", "))
                                : fmt::format("did you mean {}?", nearest));
  }
}

bool fits(const std::string& pattern, std::string_view name) {
  return ::fnmatch(pattern.c_str(), std::string(name).c_str(), 0) == 0;
}

/// Whether a call of this name is asked for; `standard` where no names are given.
bool wants_case(const BenchOptions& options, std::string_view name, bool standard) {
  if (options.case_patterns.empty()) return standard;
  return std::any_of(options.case_patterns.begin(), options.case_patterns.end(),
                     [&](const std::string& pattern) { return fits(pattern, name); });
}

bool wants_op(const BenchOptions& options, std::string_view name) {
  if (options.op.empty()) return options.model.empty() && options.weights.empty();
  return std::find(options.op.begin(), options.op.end(), name) != options.op.end();
}

/// Each pattern has to name a call of what is measured; models of pictures have but one.
void check_cases(const BenchOptions& options, const BenchPlan& plan) {
  if (options.case_patterns.empty()) return;
  Texts calls;
  for (const ops::Op& op : ops::registry())
    if (wants_op(options, op.name))
      for (const ops::OpCase& op_case : op.cases()) calls.push_back(op_case.name);
  const bool of_ops = !calls.empty();
  if (plan.novel_view_model ||
      std::any_of(options.model.begin(), options.model.end(), is_novel_view_model))
    calls.insert(calls.end(), kNovelViewCalls.begin(), kNovelViewCalls.end());
  TTT_CHECK(!calls.empty(), usage, "models of pictures have no calls to choose from", "--case",
            "leave out --case");
  for (const std::string& pattern : options.case_patterns)
    TTT_CHECK(std::any_of(calls.begin(), calls.end(),
                          [&](const std::string& call) { return fits(pattern, call); }),
              usage, "no call of what is measured has such a name",
              "--case " + printable(pattern, 80),
              of_ops ? "`ttt bench --case '*' -r 1` shows the names"
                     : fmt::format("there are {}", fmt::join(calls, " and ")));
}

/// The implementation that runs this op with these tensors; nullopt when there is none.
std::optional<ops::Backend> backend_of(const ops::Op& op, const Subject& subject,
                                       c10::Device device) {
  const auto has = [&](const std::vector<at::ScalarType>& types) {
    return std::find(types.begin(), types.end(), subject.dtype) != types.end();
  };
  const bool gpu = device.type() != c10::DeviceType::CPU;
  const auto available = [&](ops::Backend backend) {
    if (backend == ops::Backend::cuda) return gpu && has(op.support().cuda);
    if (backend == ops::Backend::cpu) return !gpu && has(op.support().cpu);
    return true;
  };
  if (subject.backend != ops::Backend::automatic)
    return available(subject.backend) ? std::optional(subject.backend) : std::nullopt;
  const ops::Backend fast = gpu ? ops::Backend::cuda : ops::Backend::cpu;
  return available(fast) ? fast : ops::Backend::reference;
}

void add_ops(BenchPlan& plan, const BenchOptions& options, const Sweeps& sweeps) {
  for (const ops::Op& op : ops::registry()) {
    if (!wants_op(options, op.name)) continue;
    const std::vector<ops::OpCase> cases = op.cases();
    for_each_combination(sweeps, [&](Subject subject) {
      for (const ops::OpCase& op_case : cases) {
        if (!wants_case(options, op_case.name, op_case.large)) continue;
        const auto backend = backend_of(op, subject, plan.device.device);
        if (!backend || (subject.training && !op_case.differentiable)) continue;
        Subject added = subject;
        added.name = op.name;
        added.op_case = op_case.name;
        added.backend = *backend;
        plan.subjects.push_back(std::move(added));
      }
    });
  }
}

void add_model(BenchPlan& plan, const Sweeps& sweeps, const std::string& name,
               const std::string& weights) {
  const vision::Classifier classifier = vision::Classifier::load(
      {.weights = weights, .model = name, .random_weights = weights.empty()});
  std::vector<PixelSize> sizes = sweeps.sizes;
  const PreprocessOptions& own = classifier.default_preprocess();
  if (sizes.empty()) sizes.push_back({static_cast<int>(own.width), static_cast<int>(own.height)});
  for (const PixelSize& size : sizes) classifier.check_size(size.width, size.height);
  for_each_combination(sweeps, [&](Subject subject) {
    subject.is_op = false;
    subject.name = classifier.spec().name();
    subject.weights = weights;
    for (const PixelSize& size : sizes)
      for (const std::int64_t batch : sweeps.batches) {
        subject.width = size.width;
        subject.height = size.height;
        subject.batch = batch;
        plan.subjects.push_back(subject);
      }
  });
}

/// The calls of a model of novel views, which the shop knows by its name or file.
void add_novel_views(BenchPlan& plan, const BenchOptions& options, const Sweeps& sweeps,
                     const nvs::LvsmConfig& config) {
  TTT_CHECK(options.pass != "training", usage,
            "training steps of models of novel views aren't measured", "--pass",
            "leave out --pass; `ttt train` reports how long its steps take");
  std::vector<PixelSize> sizes = sweeps.sizes;
  if (sizes.empty()) sizes.push_back({kNovelViewSide, kNovelViewSide});
  for (const PixelSize& size : sizes)
    TTT_CHECK(size.width % config.patch_size == 0 && size.height % config.patch_size == 0, usage,
              fmt::format("{}x{} can't be cut into patches of {}x{}", size.width, size.height,
                          config.patch_size, config.patch_size),
              "--size", fmt::format("use multiples of {}", config.patch_size));
  for_each_combination(sweeps, [&](Subject subject) {
    if (subject.training) return;
    subject.is_op = false;
    subject.novel_views = true;
    subject.name = config.name();
    subject.weights = options.weights;
    for (const PixelSize& size : sizes)
      for (const std::int64_t batch : sweeps.batches)
        for (const std::string_view call : kNovelViewCalls) {
          if (!wants_case(options, call, true)) continue;
          subject.op_case = call;
          subject.width = size.width;
          subject.height = size.height;
          subject.batch = batch;
          plan.subjects.push_back(subject);
        }
  });
}

void add_models(BenchPlan& plan, const BenchOptions& options, const Sweeps& sweeps) {
  TTT_CHECK(options.weights.empty() || options.model.size() <= 1, usage,
            "one weight file holds one model", "--weights, --model", "leave out --model");
  Texts names = options.model;
  if (!options.weights.empty()) {
    plan.novel_view_model = load_novel_view_model(options.weights);
    if (plan.novel_view_model) {
      const nvs::LvsmConfig& config = novel_view_config(*plan.novel_view_model);
      TTT_CHECK(
          names.empty() || names[0] == config.name(), weights,
          fmt::format("the weights are of {}, not of {}", config.name(), printable(names[0], 80)),
          "--model", "leave out --model");
      return add_novel_views(plan, options, sweeps, config);
    }
    return add_model(plan, sweeps, names.empty() ? "" : names[0], options.weights);
  }
  if (names.empty() && options.op.empty()) names = {"vit3_t"};
  for (const std::string& name : names) {
    if (is_novel_view_model(name)) {
      add_novel_views(plan, options, sweeps, nvs::find_lvsm_preset(name).config);
      continue;
    }
    vision::find_preset(name);
    add_model(plan, sweeps, name, "");
  }
  TTT_CHECK(!names.empty() || (options.size.empty() && options.batch.empty()), usage,
            "pictures are for models, and no model is measured",
            options.size.empty() ? "--batch" : "--size", "add --model, for example --model vit3_t");
}

}  // namespace

BenchPlan make_bench_plan(const BenchOptions& options) {
  const Sweeps sweeps = parse_sweeps(options);
  check_op_names(options.op);
  BenchPlan plan;
  plan.device = choose_device(options.device);
  plan.cuda_graph = parse_cuda_graph_mode(options.cuda_graph);
  check_cuda_graph_mode(plan.cuda_graph, plan.device.device);
  add_ops(plan, options, sweeps);
  add_models(plan, options, sweeps);
  check_cases(options, plan);
  std::set<Subject> seen;
  std::erase_if(plan.subjects,
                [&](const Subject& subject) { return !seen.insert(subject).second; });
  TTT_CHECK(
      !plan.subjects.empty(), device,
      "nothing to measure: none of it runs on this device in this type",
      fmt::format("--backend {}, --dtype {}, device {}",
                  fmt::join(or_default(options.backend, "auto"), ","),
                  fmt::join(or_default(options.dtype, "fp32"), ","), plan.device.device.str()),
      "`ttt list ops` shows the types of each backend");
  return plan;
}

std::string bench_type_name(at::ScalarType type) {
  switch (type) {
    case at::ScalarType::BFloat16:
      return "bf16";
    case at::ScalarType::Half:
      return "fp16";
    default:
      return "fp32";
  }
}

}  // namespace ttt::cli
