// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/config_file.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/target.h"

namespace ttt::fuzz {
namespace {

/// A program with an option of every kind.
struct Options {
  bool fast = false;
  std::int64_t count = 1;
  std::optional<double> crop;
  std::string labels, format;
  std::optional<cli::PixelSize> size;
  std::optional<std::array<double, 3>> mean;
  std::vector<std::string> input;
  cli::OptionTable table{"sample", "A sample."};

  Options() {
    table.add_switch({.name = "fast"}, fast);
    table.add_integer({.name = "count"}, count, {1, 10});
    table.add_number({.name = "crop"}, crop, {0, 1});
    table.add_text({.name = "labels"}, labels);
    table.add_choice({.name = "format"}, format, {"table", "json"});
    table.add_size({.name = "size"}, size);
    table.add_numbers({.name = "mean"}, mean, {0, 1});
    table.add_list({.name = "input"}, input);
  }
};

Outcome read_config(std::string_view bytes) {
  Outcome outcome;
  Digest digest;
  const std::string path = memory_file(bytes);
  try {
    Options options;
    for (const cli::Assignment& assignment : cli::read_config_file(options.table, path)) {
      options.table.find(assignment.name)->set({assignment.value}, assignment.where);
      digest.add(assignment.name);
      digest.add(assignment.value);
      outcome.accepted = true;
    }
    require(options.count >= 1 && options.count <= 10 && options.crop.value_or(0) >= 0 &&
                options.crop.value_or(0) <= 1,
            "an option is out of its range");
  } catch (const Error& error) {
    check_error(error, {ErrorKind::usage}, false, digest);
  }
  outcome.digest = digest.value();
  return outcome;
}

}  // namespace

std::vector<Target> config_targets() {
  // yaml-cpp makes some kilobytes of each value.
  return {{"config",
           text_format,
           {{"tests/fuzz/corpus/config", ".yaml"}},
           read_config,
           std::uint64_t{8} << 20,
           2000,
           1 << 14}};
}

}  // namespace ttt::fuzz
