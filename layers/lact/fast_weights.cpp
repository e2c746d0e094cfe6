// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "layers/lact/fast_weights.h"

#include "core/error.h"
#include "core/weights/safetensors_writer.h"
#include "core/weights/state_dict.h"
#include "core/weights/weight_file.h"
#include "kernels/fast_weight_update/fast_weight_update.h"

#include <ATen/ATen.h>
#include <spdlog/fmt/fmt.h>

#include <set>

namespace ttt::layers {
namespace {

constexpr const char* kFormatKey = "ttt_format";
constexpr const char* kFormat = "ttt fast weights 1";

struct Part {
  const char* prefix;
  ops::SwigluMatrices FastWeights::*matrices;
};
constexpr Part kParts[] = {{"w", &FastWeights::weights},
                           {"norm", &FastWeights::norms},
                           {"momentum", &FastWeights::momentum}};

std::string tensor_name(const std::string& layer, const char* prefix, int which) {
  return fmt::format("{}.{}{}", layer, prefix, which);
}

[[noreturn]] void fail(const std::string& what, const std::filesystem::path& path) {
  throw Error(ErrorKind::weights, what, printable(path.string()),
              "use a state file written by this program");
}

/// "blocks.0" of "blocks.0.w1".
std::string layer_of(const std::string& name, const std::filesystem::path& path) {
  const std::size_t dot = name.rfind('.');
  const std::string part = dot == std::string::npos ? name : name.substr(dot + 1);
  for (const Part& known : kParts)
    for (int which = 0; which < 3; ++which)
      if (dot != std::string::npos && part == known.prefix + std::to_string(which))
        return name.substr(0, dot);
  fail(fmt::format("'{}' is no tensor of fast weights", printable(name)), path);
}

ops::SwigluMatrices read_part(const WeightFile& file, const std::string& layer,
                              const char* prefix) {
  ops::SwigluMatrices result;
  int found = 0;
  at::Tensor* const matrices[] = {&result.w0, &result.w1, &result.w2};
  for (int which = 0; which < 3; ++which) {
    const std::string name = tensor_name(layer, prefix, which);
    const TensorInfo* info = file.find(name);
    if (info == nullptr) continue;
    ++found;
    if (!is_floating(info->dtype) || info->shape.size() != 4)
      fail(fmt::format("'{}' is {} {}", printable(name), to_string(info->dtype),
                       shape_text(info->shape)),
           file.path());
    *matrices[which] = file.read(name).to(at::kFloat).clone();
    if (count_non_finite(*matrices[which]) > 0)
      fail(fmt::format("'{}' has values that are not finite", printable(name)), file.path());
  }
  if (found % 3 != 0)
    fail(fmt::format("'{}' lacks a part of {}0 to {}2", printable(layer), prefix, prefix),
         file.path());
  return result;
}

/// The three shapes of a part fit those of the weights, given the size of w0's input axis.
void check_part(const std::string& layer, const ops::SwigluMatrices& part,
                const ops::SwigluMatrices& weights, bool norms, const std::filesystem::path& path) {
  if (!part.w0.defined()) return;
  const at::Tensor& like = weights.w0;
  const std::int64_t width = like.size(2), hidden = like.size(3);
  const auto fits = [&](const at::Tensor& tensor, std::int64_t rows, std::int64_t columns) {
    return (tensor.size(0) == like.size(0) || tensor.size(0) == 1 || like.size(0) == 1) &&
           tensor.size(1) == like.size(1) && tensor.size(2) == (norms ? 1 : rows) &&
           tensor.size(3) == columns;
  };
  if (!fits(part.w0, width, hidden) || !fits(part.w1, hidden, width) ||
      !fits(part.w2, width, hidden))
    fail(fmt::format("the shapes of '{}' don't fit each other", printable(layer)), path);
}

}  // namespace

ops::SwigluMatrices fast_weight_norms(const ops::SwigluMatrices& weights) {
  return {ops::fast_weight_norms(weights.w0), ops::fast_weight_norms(weights.w1),
          ops::fast_weight_norms(weights.w2)};
}

ops::SwigluMatrices transposed(const ops::SwigluMatrices& matrices) {
  return {matrices.w0.transpose(-2, -1), matrices.w1.transpose(-2, -1),
          matrices.w2.transpose(-2, -1)};
}

ops::SwigluMatrices merge_gradients(const std::vector<ops::SwigluMatrices>& parts) {
  TTT_CHECK(!parts.empty(), usage, "no gradients to merge", "LaCT layer",
            "pass the gradients of at least one part");
  ops::SwigluMatrices sum = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const ops::SwigluMatrices& part = parts[i];
    TTT_CHECK(part.w0.sizes() == sum.w0.sizes() && part.w1.sizes() == sum.w1.sizes() &&
                  part.w2.sizes() == sum.w2.sizes(),
              usage, "gradients of different shapes", "LaCT layer",
              "merge gradients that were taken at the same weights");
    sum = {sum.w0 + part.w0, sum.w1 + part.w1, sum.w2 + part.w2};
  }
  return sum;
}

void save_fast_weights(const std::filesystem::path& path,
                       const std::map<std::string, FastWeights>& layers,
                       const std::map<std::string, std::string>& metadata, StateDtype dtype) {
  std::vector<NamedTensor> tensors;
  for (const auto& [layer, state] : layers)
    for (const Part& part : kParts) {
      const ops::SwigluMatrices& matrices = state.*part.matrices;
      if (!matrices.w0.defined()) continue;
      const bool narrow = dtype == StateDtype::bfloat16 && part.matrices == &FastWeights::weights;
      const at::ScalarType stored = narrow ? at::kBFloat16 : at::kFloat;
      int which = 0;
      for (const at::Tensor& matrix : {matrices.w0, matrices.w1, matrices.w2})
        tensors.push_back({tensor_name(layer, part.prefix, which++), matrix.detach().to(stored)});
    }
  std::map<std::string, std::string> all = metadata;
  all[kFormatKey] = kFormat;
  write_safetensors(path, tensors, all);
}

FastWeightsFile load_fast_weights(const std::filesystem::path& path) {
  const WeightFile file = WeightFile::open(path);
  FastWeightsFile result;
  result.metadata = file.metadata();
  const auto format = result.metadata.find(kFormatKey);
  if (format == result.metadata.end() || format->second != kFormat)
    fail("this is no file of fast weights", path);
  result.metadata.erase(format);
  std::set<std::string> names;
  for (const TensorInfo& info : file.tensors()) names.insert(layer_of(info.name, path));
  for (const std::string& layer : names) {
    FastWeights& state = result.layers[layer];
    for (const Part& part : kParts) state.*part.matrices = read_part(file, layer, part.prefix);
    if (!state.weights.w0.defined())
      fail(fmt::format("'{}' has no weights", printable(layer)), path);
    check_part(layer, state.weights, state.weights, false, path);
    check_part(layer, state.norms, state.weights, true, path);
    check_part(layer, state.momentum, state.weights, false, path);
  }
  return result;
}

}  // namespace ttt::layers
