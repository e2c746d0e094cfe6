// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/weights/weight_file.h"
#include "tests/support/paths.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>

namespace ttt::test {

/// A golden file "<name>.safetensors" of golden/nvs with the description beside it.
class Golden {
 public:
  explicit Golden(const std::string& name)
      : file_(WeightFile::open(shared("golden/nvs/" + name + ".safetensors"))),
        json_(nlohmann::json::parse(std::ifstream(shared("golden/nvs/" + name + ".json")))) {}
  const nlohmann::json& cases() const { return json_; }
  bool has(const std::string& name) const { return file_.find(name) != nullptr; }
  at::Tensor read(const std::string& name) const { return file_.read(name).clone(); }

 private:
  WeightFile file_;
  nlohmann::json json_;
};

inline double max_error(const at::Tensor& actual, const at::Tensor& expected) {
  EXPECT_EQ(actual.sizes(), expected.sizes());
  if (actual.numel() == 0 || actual.sizes() != expected.sizes()) return 0;
  return (actual.to(at::kDouble) - expected.to(at::kDouble)).abs().max().item<double>();
}

inline double rms_error(const at::Tensor& actual, const at::Tensor& expected) {
  const at::Tensor difference = actual.to(at::kDouble) - expected.to(at::kDouble);
  return difference.square().mean().sqrt().item<double>();
}

}  // namespace ttt::test
