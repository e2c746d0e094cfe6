// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/small_sink.h"

#include "apps/common/run_record.h"
#include "core/atomic_file.h"

namespace ttt::cli {
namespace {

class WholeFileSink : public ResultSink {
 public:
  WholeFileSink(std::string output, std::unique_ptr<ResultRenderer> renderer)
      : output_(std::move(output)), renderer_(std::move(renderer)), text_(renderer_->begin()) {}
  void row(const Json& row) override { text_ += renderer_->row(row); }
  void finish(const Json& summary, bool /*complete*/) override {
    write_file(output_, text_ + renderer_->end(summary));
  }

 private:
  std::string output_;
  std::unique_ptr<ResultRenderer> renderer_;
  std::string text_;
};

}  // namespace

bool check_small_output(const std::string& output, bool overwrite) {
  if (to_stream(output)) return false;
  check_writable(output, overwrite);
  check_writable(run_record_path(output), true);
  return true;
}

std::unique_ptr<ResultSink> make_small_sink(const std::string& output,
                                            std::unique_ptr<ResultRenderer> renderer) {
  if (to_stream(output)) return make_stream_sink(output, std::move(renderer));
  return std::make_unique<WholeFileSink>(output, std::move(renderer));
}

}  // namespace ttt::cli
