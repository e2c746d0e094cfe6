// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/console.h"

#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace ttt::cli {
namespace {

constexpr int kRepetitionsShown = 10;

std::string_view color_code(std::string_view word) {
  if (word == "error") return "\x1b[1;31m";
  if (word == "warning") return "\x1b[1;33m";
  return "\x1b[1;36m";
}

std::string_view word_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      return "error";
    case LogLevel::info:
    case LogLevel::off:
      break;
  }
  return "";
}

/// What a line says, without the place that it says it of.
std::string_view without_place(std::string_view line) {
  if (!line.ends_with(')')) return line;
  const std::size_t begin = line.rfind(" (");
  return begin == std::string_view::npos ? line : line.substr(0, begin);
}

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(STDERR_FILENO, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // Nobody reads the messages; the results matter more.
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace

Console& Console::instance() {
  static Console console;
  return console;
}

Console::Console() : terminal_(::isatty(STDERR_FILENO) == 1) {
  set_color("auto");
}

void Console::set_color(std::string_view mode) {
  const std::scoped_lock lock(mutex_);
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal_name = std::getenv("TERM");
  const bool dumb = terminal_name != nullptr && std::strcmp(terminal_name, "dumb") == 0;
  const bool forbidden = (no_color != nullptr && *no_color != '\0') || dumb;
  color_ = mode == "always" || (mode == "auto" && terminal_ && !forbidden);
}

void Console::attach_to_log() {
  set_log_callback([this](LogLevel level, std::string_view line) { print_log(level, line); });
}

void Console::print_log(LogLevel level, std::string_view line) {
  const std::scoped_lock lock(mutex_);
  // Debug lines were asked for one by one, and errors are few.
  if (level == LogLevel::info || level == LogLevel::warning) {
    const std::string_view key = without_place(line);
    auto found = repetitions_.find(key);
    if (found == repetitions_.end()) found = repetitions_.emplace(key, 0).first;
    if (++found->second > kRepetitionsShown) return;
  }
  write(word_of(level), line);
}

void Console::print(std::string_view word, std::string_view text) {
  const std::scoped_lock lock(mutex_);
  write(word, text);
}

void Console::write(std::string_view word, std::string_view text) {
  std::string out;
  if (!progress_.empty()) out += "\r\x1b[K";
  if (!word.empty()) {
    out += color_ ? std::string(color_code(word)) + std::string(word) + ":\x1b[0m "
                  : std::string(word) + ": ";
  }
  out += text;
  out += '\n';
  out += progress_;
  write_all(out);
}

void Console::set_progress_line(std::string line) {
  const std::scoped_lock lock(mutex_);
  if (progress_.empty() && line.empty()) return;
  write_all("\r\x1b[K" + line);
  progress_ = std::move(line);
}

void Console::print_repetitions() {
  const std::scoped_lock lock(mutex_);
  for (const auto& [text, count] : repetitions_) {
    if (count > kRepetitionsShown)
      write("", fmt::format("… and {} more like \"{}\"", count - kRepetitionsShown, text));
  }
  repetitions_.clear();
}

}  // namespace ttt::cli
