// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/classify/serve.h"

#include "apps/classify/inputs.h"
#include "apps/classify/rows.h"
#include "apps/classify/tally.h"
#include "apps/common/output.h"
#include "apps/common/text.h"
#include "core/cancel.h"
#include "core/version.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <unistd.h>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestRequest = 1 << 20;

/// Lines of standard input; a signal ends the wait for the next one.
class LineReader {
 public:
  /// Reads the next line into `line`; false at the end of the input or when cancellation was
  /// requested. A line that is too long comes cut off.
  bool next(std::string& line) {
    for (;;) {
      const std::size_t end = buffer_.find('\n');
      const bool complete = end != std::string::npos;
      if (complete || buffer_.size() > kLongestRequest) {
        const bool rest = skipping_;  // of a line that was too long
        skipping_ = !complete;
        line.assign(buffer_, 0, end);
        buffer_.erase(0, complete ? end + 1 : end);
        if (!rest) return true;
      } else if (!fill()) {
        if (cancel_requested() || buffer_.empty() || skipping_) return false;
        line.swap(buffer_);
        buffer_.clear();
        return true;
      }
    }
  }

 private:
  bool fill() {
    std::array<char, 65536> block{};
    for (;;) {
      if (cancel_requested()) return false;
      const ssize_t count = ::read(STDIN_FILENO, block.data(), block.size());
      if (count > 0) buffer_.append(block.data(), static_cast<std::size_t>(count));
      if (count >= 0) return count > 0;
      if (errno != EINTR) return false;
    }
  }

  std::string buffer_;
  bool skipping_ = false;
};

class Server {
 public:
  Server(const ClassifySetup& setup, const ClassifyOptions& options)
      : setup_(setup),
        options_(options),
        job_(setup.job),
        rows_{.labels = setup.labels,
              .classes = setup.classifier.spec().classes(),
              .top_k = options.top_k,
              .logits = options.logits,
              .inner_report = options.inner_report},
        tally_(0, rows_) {
    job_.workers = 1;
    job_.stop_on_error = false;
    if (options.inner_report) job_.context.reports = &inner_;
  }

  int run() {
    const Clock::time_point start = Clock::now();
    LineReader lines;
    std::string line;
    while (lines.next(line)) {
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      const Json row = answer(line);
      tally_.add(row);
      write_stdout(dump_json(row) + "\n");
    }
    Json summary{{"schema", kSchema}, {"status", "summary"}, {"command", "classify"}};
    tally_.put_into(summary);
    const std::chrono::duration<double, std::milli> elapsed = Clock::now() - start;
    summary["interrupted"] = cancel_requested();
    summary["total_time_ms"] = significant(elapsed.count(), 6);
    summary["version"] = build_info().version;
    summary["commit"] = build_info().commit;
    summary.update(describe(setup_, options_));
    write_stdout(dump_json(summary) + "\n");
    if (cancel_requested()) return exit_code(ErrorKind::interrupted);
    return tally_.failed() > 0 ? exit_code(ErrorKind::input) : 0;
  }

 private:
  Json answer(const std::string& line) {
    Json id;
    Json row;
    try {
      TTT_CHECK(line.size() <= kLongestRequest, usage, "the request is longer than 1 MiB", "",
                "send {\"input\": path}");
      const Json request = Json::parse(line, nullptr, /*allow_exceptions=*/false);
      TTT_CHECK(request.is_object(), usage, "the request is not a JSON object", "",
                "send {\"input\": path}");
      if (request.contains("id")) id = request["id"];
      const std::string name = get_name(request, "input");
      TTT_CHECK(!name.empty(), usage, "the request has no \"input\"", "", "send {\"input\": path}");
      row = classify_one(name);
    } catch (const Error& error) {
      row = make_error_row("", error);
    }
    if (!id.is_null()) row["id"] = id;
    return row;
  }

  Json classify_one(const std::string& name) {
    const std::vector<InputItem> items{file_item(name)};
    Json row;
    inner_.clear();
    vision::classify(setup_.classifier, items, job_, [&](vision::ClassifyRow&& result) {
      row = make_row(result, name, std::nullopt, rows_);
      if (!result.error && rows_.inner_report) row["inner"] = inner_json(inner_);
    });
    if (row.is_null())
      return make_error_row(name, Error(ErrorKind::interrupted, "interrupted", printable(name)));
    return row;
  }

  const ClassifySetup& setup_;
  const ClassifyOptions& options_;
  vision::ClassifyJobOptions job_;
  std::vector<vision::InnerStepReport> inner_;
  RowSettings rows_;
  Tally tally_;
};

}  // namespace

int serve(const ClassifySetup& setup, const ClassifyOptions& options) {
  announce(setup, options, 0);
  check_memory(setup, 1);
  return Server(setup, options).run();
}

}  // namespace ttt::cli
