// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/classify/rows.h"
#include "core/inputs/inputs.h"
#include "vision/contact_sheet.h"

#include <string>

namespace ttt::cli {

/// `--sheet`: a picture of the pictures with their labels and probabilities.
class SheetFile {
 public:
  /// Checks before any work that the file can be written. Throws Error(usage) for a suffix other
  /// than .png, Error(output).
  SheetFile(std::string path, bool overwrite, DecodeMode decode);

  /// Reads the picture again, for its thumbnail. Rows beyond the sheet's capacity are counted only.
  void add(const InputItem& item, const vision::ClassifyRow& row,
           const std::optional<Target>& target, const vision::LabelSet& labels);
  void write();

 private:
  std::string path_;
  DecodeMode decode_;
  vision::ContactSheet sheet_;
  std::size_t left_out_ = 0;
};

}  // namespace ttt::cli
