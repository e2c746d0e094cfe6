// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace ttt::cli {

/// Collects the features of the pictures that could be labelled.
class FeatureFile {
 public:
  /// Checks before any work that the file can be written. Throws Error(usage) for a suffix other
  /// than .safetensors, Error(output).
  FeatureFile(std::string path, bool overwrite);

  /// All rows have the same length.
  void add(const std::string& name, const std::vector<float>& row);
  /// Writes "features" [N, C] fp32; the metadata entry "inputs" is the JSON list of the N names.
  /// Without a row N and C are 0.
  void write();

 private:
  std::string path_;
  std::vector<std::string> names_;
  std::vector<float> values_;
};

}  // namespace ttt::cli
