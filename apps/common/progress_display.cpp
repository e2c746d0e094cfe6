// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/progress_display.h"

#include "apps/common/console.h"
#include "apps/common/text.h"
#include "core/error.h"

#include <spdlog/fmt/fmt.h>

#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace ttt::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kRedraw{100};
constexpr milliseconds kJsonInterval{100};
constexpr seconds kLineInterval{10};
constexpr double kWorthAnEstimate = 10;  // seconds

std::string line_of(const ProgressReport& report) {
  std::string line = fmt::format("{} {}", report.task, report.done);
  if (report.total > 0)
    line += fmt::format("/{} ({}%)", report.total, 100 * report.done / report.total);
  if (report.rate > 0) line += fmt::format(", {:.3g}/s", report.rate);
  if (!report.note.empty()) line += ", " + report.note;
  if (report.finished) return line + ", took " + duration_text(report.elapsed_seconds);
  if (report.remaining_seconds >= 0)
    line += ", " + duration_text(report.remaining_seconds) + " left";
  return line;
}

}  // namespace

ProgressDisplay::ProgressDisplay(Settings settings)
    : settings_(settings), last_shown_(Clock::now()), last_json_(Clock::now() - kJsonInterval) {}

ProgressCallback ProgressDisplay::callback() {
  if (!settings_.show && !settings_.descriptor) return {};
  return [this](const ProgressReport& report) { on_report(report); };
}

void ProgressDisplay::on_report(const ProgressReport& report) {
  if (settings_.descriptor) write_json(report);
  if (!settings_.show) return;
  if (Console::instance().is_terminal()) {
    draw(report);
  } else {
    write_line(report);
  }
}

void ProgressDisplay::draw(const ProgressReport& report) {
  const Clock::time_point now = Clock::now();
  if (report.finished) return Console::instance().set_progress_line({});
  if (now - last_shown_ < kRedraw) return;
  last_shown_ = now;
  Console::instance().set_progress_line(line_of(report));
}

void ProgressDisplay::write_line(const ProgressReport& report) {
  const Clock::time_point now = Clock::now();
  const bool first_estimate =
      !estimate_shown_ && report.done > 0 && report.remaining_seconds > kWorthAnEstimate;
  const bool last = report.finished && estimate_shown_;
  if (!first_estimate && !last && now - last_shown_ < kLineInterval) return;
  estimate_shown_ = true;
  last_shown_ = now;
  Console::instance().print("", line_of(report));
}

void ProgressDisplay::write_json(const ProgressReport& report) {
  const Clock::time_point now = Clock::now();
  if (!report.finished && now - last_json_ < kJsonInterval) return;
  last_json_ = now;
  nlohmann::ordered_json line{{"task", report.task},
                              {"done", report.done},
                              {"total", report.total},
                              {"elapsed_s", significant(report.elapsed_seconds, 6)},
                              {"rate", significant(report.rate, 6)},
                              {"remaining_s", nullptr},
                              {"finished", report.finished}};
  if (report.remaining_seconds >= 0) line["remaining_s"] = significant(report.remaining_seconds, 6);
  if (!report.note.empty()) line["note"] = report.note;
  const std::string text = dump_json(line) + "\n";
  // A front end that stopped reading must not end the run.
  if (::write(*settings_.descriptor, text.data(), text.size()) < 0) settings_.descriptor.reset();
}

void check_progress_descriptor(int descriptor) {
  const int flags = ::fcntl(descriptor, F_GETFL);
  TTT_CHECK(flags >= 0 && (flags & O_ACCMODE) != O_RDONLY, usage,
            fmt::format("descriptor {} is not open for writing", descriptor), "--progress-fd",
            fmt::format("open it in the shell, e.g. {}>progress.jsonl", descriptor));
}

}  // namespace ttt::cli
