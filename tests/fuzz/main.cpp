// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// Feeds mutated files to the readers under the sanitizers.
#include "tests/fuzz/broken_target.h"
#include "tests/fuzz/run.h"

#include <charconv>
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ttt::fuzz {
namespace {

constexpr const char* kUsage =
    "usage: fuzz_readers list\n"
    "       fuzz_readers run TARGET|all COUNT SEED [FIRST_INDEX [FAILURE_FOLDER]]\n"
    "       fuzz_readers replay TARGET FILE…\n"
    "       fuzz_readers write TARGET SEED INDEX FILE   the input of an index\n";

using Arguments = std::vector<std::string>;

std::uint64_t number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    throw std::invalid_argument("not a number: " + text);
  return value;
}

const Target& target_named(const std::string& name) {
  if (const Target* target = find_target(name)) return *target;
  if (name == broken_target().name) return broken_target();
  throw std::invalid_argument("there is no target " + name);
}

int run(const Arguments& arguments) {
  RunOptions options{.count = number(arguments.at(2)), .seed = number(arguments.at(3))};
  if (arguments.size() > 4) options.first = number(arguments[4]);
  if (arguments.size() > 5) options.failures = arguments[5];
  options.failures = std::filesystem::absolute(options.failures);
  std::uint64_t failures = 0;
  if (arguments[1] != "all") return run_target(target_named(arguments[1]), options) == 0 ? 0 : 1;
  for (const Target& target : targets()) failures += run_target(target, options);
  return failures == 0 ? 0 : 1;
}

int replay(const Arguments& arguments) {
  bool good = true;
  for (std::size_t i = 2; i < arguments.size(); ++i)
    good =
        replay_file(target_named(arguments.at(1)), std::filesystem::absolute(arguments[i])) && good;
  if (good) std::printf("no failure\n");
  return good ? 0 : 1;
}

int write(const Arguments& arguments) {
  const Target& target = target_named(arguments.at(1));
  const std::string bytes =
      make_input(target, read_seeds(target), number(arguments.at(2)), number(arguments.at(3)));
  std::ofstream(arguments.at(4), std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return 0;
}

int run_command(const Arguments& arguments) {
  const std::string command = arguments.empty() ? "" : arguments[0];
  if (command == "run") return run(arguments);
  if (command == "replay" && arguments.size() > 2) return replay(arguments);
  if (command == "write") return write(arguments);
  if (command != "list") throw std::invalid_argument("no such command");
  for (const Target& target : targets()) std::printf("%s\n", std::string(target.name).c_str());
  return 0;
}

}  // namespace
}  // namespace ttt::fuzz

int main(int count, char** values) {
  try {
    ttt::fuzz::prepare_runs(values[0]);
    return ttt::fuzz::run_command({values + 1, values + count});
  } catch (const std::logic_error& error) {
    std::fprintf(stderr, "%s\n%s", error.what(), ttt::fuzz::kUsage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
