// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "training/checkpoints.h"

#include "core/error.h"
#include "core/log.h"
#include "core/weights/weight_file.h"

#include <torch/torch.h>

#include <algorithm>
#include <charconv>

namespace ttt::training {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kModelSuffix = ".safetensors";

/// The step of "step-00001234.safetensors"; nothing for other names.
std::optional<std::int64_t> step_of(const std::string& name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kModelSuffix)) return std::nullopt;
  std::int64_t step = 0;
  const char* end = name.data() + name.size() - kModelSuffix.size();
  const auto [stop, error] = std::from_chars(name.data() + kPrefix.size(), end, step);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return step;
}

}  // namespace

CheckpointStore::CheckpointStore(fs::path folder, std::int64_t keep_last)
    : folder_(std::move(folder)), keep_last_(keep_last) {}

fs::path CheckpointStore::model_path(std::int64_t step) const {
  return folder_ / fmt::format("{}{:08}{}", kPrefix, step, kModelSuffix);
}

fs::path CheckpointStore::state_path(std::int64_t step) const {
  return folder_ / fmt::format("{}{:08}.state", kPrefix, step);
}

void CheckpointStore::save(const Checkpoint& checkpoint) const {
  write_safetensors(state_path(checkpoint.step), checkpoint.state, checkpoint.state_metadata);
  write_safetensors(model_path(checkpoint.step), checkpoint.model, checkpoint.model_metadata);
  std::vector<std::int64_t> all = steps();
  while (static_cast<std::int64_t>(all.size()) > keep_last_) {
    remove(all.front());
    all.erase(all.begin());
  }
}

void CheckpointStore::save_best(const NamedTensors& model, const Metadata& metadata) const {
  write_safetensors(best_path(), model, metadata);
}

std::vector<std::int64_t> CheckpointStore::steps() const {
  std::vector<std::int64_t> result;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
    const std::optional<std::int64_t> step = step_of(entry.path().filename().string());
    if (step && fs::exists(state_path(*step), ignored)) result.push_back(*step);
  }
  std::sort(result.begin(), result.end());
  return result;
}

void CheckpointStore::remove(std::int64_t step) const {
  std::error_code ignored;
  fs::remove(model_path(step), ignored);  // first: its presence means that both files are there
  fs::remove(state_path(step), ignored);
}

void CheckpointStore::clear() const {
  for (const std::int64_t step : steps()) remove(step);
  std::error_code ignored;
  fs::remove(best_path(), ignored);
}

void restore_tensors(const WeightFile& file, const NamedTensors& into) {
  const torch::NoGradGuard no_grad;
  for (const NamedTensor& target : into) {
    const TensorInfo* info = file.find(target.name);
    TTT_CHECK(info != nullptr && at::IntArrayRef(info->shape) == target.tensor.sizes(), weights,
              "the checkpoint holds no fitting tensor " + target.name,
              printable(file.path().string()),
              "resume with the settings that the run was started with");
    at::Tensor(target.tensor).copy_(file.read(target.name));
  }
}

}  // namespace ttt::training
