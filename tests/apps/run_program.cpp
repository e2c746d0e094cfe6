// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/run_program.h"

#include "tests/apps/running_program.h"

#include <algorithm>
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

RunningProgram::RunningProgram(const ProgramCall& call)
    : call_(call),
      out_path_(call.output_path.empty() ? (folder_ / "out").string() : call.output_path) {
  write_text_file(folder_ / "in", call.input);
  const std::string in_path = folder_ / "in", err_path = folder_ / "err";
  std::vector<std::string> arguments = call.arguments;
  std::vector<std::string> environment = environment_of(call);
  std::vector<char*> argument_list = pointers(arguments);
  std::vector<char*> environment_list = pointers(environment);
  child_ = ::fork();
  if (child_ != 0) return;
  redirect(STDIN_FILENO, in_path, O_RDONLY);
  redirect(STDOUT_FILENO, out_path_, O_WRONLY | O_CREAT);
  redirect(STDERR_FILENO, err_path, O_WRONLY | O_CREAT);
  if (call.close_stdout) ::close(STDOUT_FILENO);
  if (!call.directory.empty() && ::chdir(call.directory.c_str()) != 0) ::_exit(126);
  ::execve(argument_list[0], argument_list.data(), environment_list.data());
  ::_exit(127);
}

RunningProgram::~RunningProgram() {
  if (child_ == 0) return;
  ::kill(child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
}

bool RunningProgram::ended() {
  int status = 0;
  if (child_ == 0) return true;
  if (::waitpid(child_, &status, WNOHANG) != child_) return false;
  code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  child_ = 0;
  return true;
}

bool RunningProgram::wait_for_lines(int count, const std::string& file) {
  for (;;) {
    const bool last = ended();
    const std::string text = read_text_file(file.empty() ? out_path_ : file);
    if (std::count(text.begin(), text.end(), '\n') >= count) return true;
    if (last || too_long()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void RunningProgram::signal(int number) {
  if (child_ != 0) ::kill(child_, number);
}

bool RunningProgram::too_long() {
  if (std::chrono::steady_clock::now() - start_ < kLongestRun) return false;
  ADD_FAILURE() << "the program runs for too long";
  signal(SIGKILL);
  return true;
}

ProgramResult RunningProgram::wait() {
  while (!ended() && !too_long()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  while (!ended()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ProgramResult result;
  result.code = code_;
  if (call_.output_path.empty()) result.out = out();
  result.err = read_text_file(folder_ / "err");
  return result;
}

std::string RunningProgram::out() const {
  return read_text_file(out_path_);
}

ProgramResult run_program(const ProgramCall& call) {
  RunningProgram program(call);
  if (call.signal_after_lines > 0 && program.wait_for_lines(call.signal_after_lines, call.watch))
    program.signal(call.signal_number);
  return program.wait();
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

Arguments plus(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::vector<nlohmann::json> jsonl_rows(const Arguments& arguments, int code) {
  const ProgramResult result = run_ttt(plus(arguments, {"--format", "jsonl"}));
  EXPECT_EQ(result.code, code) << result.err;
  std::vector<nlohmann::json> all = result.json_lines();
  EXPECT_FALSE(all.empty());
  return all;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
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
