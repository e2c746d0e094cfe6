// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/common/result_format.h"

#include <map>
#include <string>
#include <vector>

namespace ttt::cli {

/// Where the rows of a run go.
class ResultSink {
 public:
  using Json = nlohmann::ordered_json;
  virtual ~ResultSink() = default;
  /// Throws Error(output).
  virtual void row(const Json& row) = 0;
  /// Ends the results. `complete`: nothing is left for --resume to do.
  virtual void finish(const Json& summary, bool complete) = 0;
};

/// An output for which to_stream() holds; rows appear as they come. Throws Error(output).
std::unique_ptr<ResultSink> make_stream_sink(const std::string& output,
                                             std::unique_ptr<ResultRenderer> renderer);

/// A result file. Rows are kept as JSON lines in `<output>.partial` as they come, so that a run
/// that was interrupted, even killed, can be continued; finish() writes the result under its own
/// name, atomically, and removes the partial file if the run is complete.
class FileSink : public ResultSink {
 public:
  struct Settings {
    std::string output;
    bool overwrite = false;
    bool resume = false;  ///< keep the good rows of an earlier run
  };

  /// Throws Error(output) when the result can't be written, or exists already, finished or not, and
  /// neither overwrite nor resume is set. The constructor calls it too; it is here for programs
  /// that want to know before other work.
  static void check(const Settings& settings);
  /// Whether there is a result, finished or not, that --resume would go on with.
  static bool has_earlier(const std::string& output);
  FileSink(Settings settings, std::unique_ptr<ResultRenderer> renderer);
  ~FileSink() override;
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;

  /// How many good rows of an earlier run are kept, by input name.
  const std::map<std::string, int>& finished() const { return finished_; }
  /// Calls `visit` for each of these rows.
  void visit_finished(const std::function<void(const Json&)>& visit) const;
  /// Order of the final rows after a resume: that of these names.
  void set_order(const std::vector<std::string>& names) { order_ = names; }

  void row(const Json& row) override;
  void finish(const Json& summary, bool complete) override;

 private:
  struct Line {
    std::int64_t offset;
    std::size_t length;
    std::string name;
  };

  void take_over(const std::string& path);
  void append(const std::string& text, std::string name);
  std::string read(const Line& line) const;
  void sort_lines();

  Settings settings_;
  std::unique_ptr<ResultRenderer> renderer_;
  std::string partial_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
  std::vector<Line> lines_;
  std::map<std::string, int> finished_;
  std::vector<std::string> order_;
};

}  // namespace ttt::cli
