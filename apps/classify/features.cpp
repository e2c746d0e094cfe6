// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/classify/features.h"

#include "apps/common/text.h"
#include "core/atomic_file.h"
#include "core/error.h"
#include "core/weights/safetensors_writer.h"

#include <ATen/ops/from_blob.h>

#include <array>

namespace ttt::cli {

FeatureFile::FeatureFile(std::string path, bool overwrite) : path_(std::move(path)) {
  TTT_CHECK(path_.ends_with(".safetensors"), usage, "features are written as safetensors",
            "--features " + printable(path_), "end the file name in .safetensors");
  check_writable(path_, overwrite);
}

void FeatureFile::add(const std::string& name, const std::vector<float>& row) {
  names_.push_back(utf8_text(name));
  values_.insert(values_.end(), row.begin(), row.end());
}

void FeatureFile::write() {
  const auto count = static_cast<std::int64_t>(names_.size());
  const std::int64_t width = count > 0 ? static_cast<std::int64_t>(values_.size()) / count : 0;
  const at::Tensor tensor = at::from_blob(values_.data(), {count, width}, at::kFloat);
  const std::array<NamedTensor, 1> tensors{{{"features", tensor}}};
  write_safetensors(path_, tensors, {{"inputs", dump_json(names_)}});
}

}  // namespace ttt::cli
