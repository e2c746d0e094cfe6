// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/run_program.h"

#include "tests/support/paths.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char** environ;

namespace ttt::test {
namespace {

constexpr std::chrono::minutes kLongestRun{2};

std::vector<std::string> environment_of(const ProgramCall& call) {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string variable = *entry;
    const std::string name = variable.substr(0, variable.find('='));
    if (name.starts_with("TTT_") || name == "NO_COLOR" || call.environment.contains(name)) continue;
    variables.push_back(variable);
  }
  for (const auto& [name, value] : call.environment) variables.push_back(name + "=" + value);
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

void redirect(int descriptor, const std::string& path, int flags) {
  const int file = ::open(path.c_str(), flags, 0600);
  if (file < 0 || ::dup2(file, descriptor) < 0) ::_exit(126);
  ::close(file);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Waits for the end; sends the signal when it is time, and kills what runs for too long.
int wait_for(pid_t child, const ProgramCall& call, const std::string& out_path) {
  const auto start = std::chrono::steady_clock::now();
  bool signalled = call.signal_after_lines == 0;
  for (;;) {
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child)
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (!signalled) {
      const auto lines = lines_of(read_text_file(call.watch.empty() ? out_path : call.watch));
      signalled = static_cast<int>(lines.size()) >= call.signal_after_lines;
      if (signalled) ::kill(child, call.signal_number);
    }
    if (std::chrono::steady_clock::now() - start > kLongestRun) {
      ADD_FAILURE() << "the program runs for too long";
      ::kill(child, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace

std::string ProgramResult::last_error_line() const {
  const std::vector<std::string> lines = lines_of(err);
  return lines.empty() ? "" : lines.back();
}

std::vector<nlohmann::json> ProgramResult::json_lines() const {
  std::vector<nlohmann::json> rows;
  for (const std::string& line : lines_of(out)) rows.push_back(nlohmann::json::parse(line));
  return rows;
}

ProgramResult run_program(const ProgramCall& call) {
  const TempDir folder;
  const std::string in_path = folder / "in";
  const std::string out_path =
      call.output_path.empty() ? (folder / "out").string() : call.output_path;
  const std::string err_path = folder / "err";
  write_text_file(in_path, call.input);
  std::vector<std::string> arguments = call.arguments;
  std::vector<std::string> environment = environment_of(call);
  std::vector<char*> argument_list = pointers(arguments);
  std::vector<char*> environment_list = pointers(environment);
  const pid_t child = ::fork();
  if (child == 0) {
    redirect(STDIN_FILENO, in_path, O_RDONLY);
    redirect(STDOUT_FILENO, out_path, O_WRONLY | O_CREAT);
    redirect(STDERR_FILENO, err_path, O_WRONLY | O_CREAT);
    if (call.close_stdout) ::close(STDOUT_FILENO);
    if (!call.directory.empty() && ::chdir(call.directory.c_str()) != 0) ::_exit(126);
    ::execve(argument_list[0], argument_list.data(), environment_list.data());
    ::_exit(127);
  }
  ProgramResult result;
  result.code = wait_for(child, call, out_path);
  if (call.output_path.empty()) result.out = read_text_file(out_path);
  result.err = read_text_file(err_path);
  return result;
}

std::string ttt_path() {
  return TTT_PROGRAM;
}

ProgramResult run_ttt(const ProgramCall& call) {
  ProgramCall full = call;
  full.arguments.insert(full.arguments.begin(), ttt_path());
  return run_program(full);
}

ProgramResult run_ttt(std::vector<std::string> arguments) {
  return run_ttt(ProgramCall{.arguments = std::move(arguments)});
}

void expect_error(const ProgramResult& result, int code, const std::string& error,
                  const std::string& hint) {
  EXPECT_EQ(result.code, code) << result.err;
  EXPECT_EQ(result.out, "");
  const std::vector<std::string> lines = lines_of(result.err);
  ASSERT_GE(lines.size(), 2U) << result.err;
  const auto is_error = [](const std::string& line) { return line.starts_with("error: "); };
  const auto first = std::find_if(lines.begin(), lines.end(), is_error);
  ASSERT_NE(first, lines.end()) << result.err;
  // A report of weights takes more than one line.
  std::string message;
  for (auto line = first; line + 1 != lines.end(); ++line) message += *line + "\n";
  EXPECT_NE(message.find(error), std::string::npos) << message;
  EXPECT_TRUE(lines.back().starts_with("hint: ")) << result.err;
  EXPECT_NE(lines.back().find(hint), std::string::npos) << lines.back();
}

std::string read_text_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_text_file(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

}  // namespace ttt::test
