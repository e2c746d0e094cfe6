// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/log.h"

#include "core/error.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>
#include <mutex>

namespace ttt {
namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::off:
      break;
  }
  return spdlog::level::off;
}

class Logger {
 public:
  static Logger& instance() {
    static Logger logger;
    return logger;
  }

  void set_callback(LogCallback callback) {
    const std::scoped_lock lock(mutex_);
    callback_ = std::move(callback);
  }

  void set_file(const std::string& path) {
    try {
      auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
      sink->set_pattern("%Y-%m-%d %H:%M:%S.%e %l: %v");
      const std::scoped_lock lock(mutex_);
      file_ = std::make_unique<spdlog::logger>("file", sink);
      file_->set_level(spdlog::level::debug);
      file_->flush_on(spdlog::level::debug);
    } catch (const spdlog::spdlog_ex& error) {
      throw Error(ErrorKind::output, std::string("can't open the log file: ") + error.what(),
                  "--log-file " + path, "choose a path in a folder that can be written");
    }
  }

  void log(LogLevel level, std::string_view line) {
    const std::scoped_lock lock(mutex_);
    if (file_) file_->log(spdlog_level(level), "{}", line);
    if (level < level_) return;
    if (callback_) {
      callback_(level, line);
    } else {
      console_->log(spdlog_level(level), "{}", line);
    }
  }

  std::atomic<LogLevel> level_{LogLevel::info};

 private:
  Logger() {
    auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
    console_ = std::make_unique<spdlog::logger>("console", sink);
    console_->set_pattern("%^%l%$: %v");
    console_->set_level(spdlog::level::debug);
    console_->flush_on(spdlog::level::debug);
  }

  std::mutex mutex_;
  LogCallback callback_;
  std::unique_ptr<spdlog::logger> console_;
  std::unique_ptr<spdlog::logger> file_;
};

}  // namespace

void set_log_callback(LogCallback callback) {
  Logger::instance().set_callback(std::move(callback));
}
void set_log_level(LogLevel level) {
  Logger::instance().level_ = level;
}
LogLevel log_level() {
  return Logger::instance().level_;
}
void set_log_file(const std::string& path) {
  Logger::instance().set_file(path);
}
void log(LogLevel level, std::string_view line) {
  Logger::instance().log(level, line);
}

}  // namespace ttt
