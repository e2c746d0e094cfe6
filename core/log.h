// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <spdlog/fmt/fmt.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace ttt {

enum class LogLevel { debug, info, warning, error, off };

/// Receives every log line of the library that is at or above the level.
using LogCallback = std::function<void(LogLevel, std::string_view)>;

/// Replaces the destination of log lines (default: standard error through spdlog, in colour only on
/// a terminal). An empty callback restores the default.
void set_log_callback(LogCallback callback);
void set_log_level(LogLevel level);
LogLevel log_level();
/// Also appends every line, from debug level on, to this file. Throws Error(output).
void set_log_file(const std::string& path);

/// Sends one line to the log. Safe to call from several threads.
void log(LogLevel level, std::string_view line);

template <typename... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  if (log_level() <= LogLevel::debug)
    log(LogLevel::debug, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::info, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::warning, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace ttt
