// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/report_error.h"

#include "apps/common/console.h"
#include "core/log.h"

#include <c10/util/Exception.h>

#include <filesystem>
#include <new>
#include <system_error>

namespace ttt::cli {
namespace {

constexpr const char* kMemoryHint = "use a smaller --batch or --size, or close other programs";
constexpr const char* kBugHint =
    "this is a bug of ttt; please report it with the output of --verbose";

std::string first_line(std::string_view text) {
  return printable(text.substr(0, text.find('\n')));
}

bool is_memory_shortage(std::string_view text) {
  return text.find("can't allocate memory") != text.npos || text.find("ut of memory") != text.npos;
}

Error from_torch(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  if (is_memory_shortage(text))
    return {ErrorKind::memory, "not enough memory: " + first_line(text), {}, kMemoryHint};
  return {ErrorKind::internal, "LibTorch: " + first_line(text), {}, kBugHint};
}

}  // namespace

Error as_error(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    return error;
  } catch (const c10::Error& error) {
    return from_torch(error);
  } catch (const std::bad_alloc&) {
    return {ErrorKind::memory, "not enough memory", {}, kMemoryHint};
  } catch (const std::filesystem::filesystem_error& error) {
    return {ErrorKind::input, "a file can't be used: " + error.code().message(),
            printable(error.path1().string()), "check the path and its permissions"};
  } catch (const std::system_error& error) {
    // The one that occurs in practice: no more threads may be started.
    return {ErrorKind::memory,
            "the system refused: " + printable(error.what()),
            {},
            "use fewer --threads, or raise the limits of this account"};
  } catch (const std::exception& error) {
    return {is_memory_shortage(error.what()) ? ErrorKind::memory : ErrorKind::internal,
            first_line(error.what()),
            {},
            kBugHint};
  } catch (...) {
    return {ErrorKind::internal, "an unknown exception", {}, kBugHint};
  }
}

int report_error(const std::exception_ptr& exception) {
  const Error error = as_error(exception);
  Console& console = Console::instance();
  console.set_progress_line({});
  console.print_repetitions();
  try {
    std::rethrow_exception(exception);
  } catch (const ReaderGone&) {
    return exit_code(error.kind());
  } catch (...) {  // every other one is printed
  }
  log_debug("thrown in {}:{}", error.source().file_name(), error.source().line());
  // Through the log, so that a log file holds it too.
  log(LogLevel::error, error.what());
  if (!error.hint().empty()) console.print("hint", error.hint());
  return exit_code(error.kind());
}

}  // namespace ttt::cli
