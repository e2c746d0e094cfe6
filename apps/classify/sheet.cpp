// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/classify/sheet.h"

#include "apps/common/text.h"
#include "core/atomic_file.h"
#include "core/log.h"
#include "core/media/encode_png.h"

#include <filesystem>

namespace ttt::cli {

SheetFile::SheetFile(std::string path, bool overwrite, DecodeMode decode)
    : path_(std::move(path)), decode_(decode) {
  TTT_CHECK(path_.ends_with(".png"), usage, "a contact sheet is a PNG file",
            "--sheet " + printable(path_), "end the file name in .png");
  check_writable(path_, overwrite);
}

void SheetFile::add(const InputItem& item, const vision::ClassifyRow& row,
                    const std::optional<Target>& target, const vision::LabelSet& labels) {
  if (sheet_.full()) {
    ++left_out_;
    return;
  }
  const std::string name = std::filesystem::path(item.name).filename().string();
  if (row.error) {
    sheet_.add_missing(name, row.error->message());
    return;
  }
  vision::SheetCaption caption{
      .title = target ? target->label + " / " + name : name, .scores = {}, .right = {}};
  for (const vision::ClassScore& score : row.top)
    caption.scores.emplace_back(labels.name(score.index), score.probability);
  if (target) caption.right = row.top.front().index == target->index;
  try {
    sheet_.add(decode_image(item.read(), decode_, item.name), std::move(caption));
  } catch (const Error& error) {  // it was readable a moment ago
    sheet_.add_missing(name, error.message());
  }
}

void SheetFile::write() {
  if (left_out_ > 0)
    log_info("the contact sheet shows the first {} pictures of {}", vision::ContactSheet::kCapacity,
             vision::ContactSheet::kCapacity + left_out_);
  write_file(path_, encode_png(sheet_.draw()));
}

}  // namespace ttt::cli
