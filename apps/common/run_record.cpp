// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/common/run_record.h"

#include "apps/common/help.h"
#include "apps/common/text.h"
#include "core/atomic_file.h"
#include "core/error.h"
#include "core/version.h"

#include <spdlog/fmt/fmt.h>

#include <array>
#include <ctime>
#include <fstream>
#include <sys/utsname.h>
#include <thread>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace

Json describe_build() {
  const BuildInfo& build = build_info();
  utsname system{};
  ::uname(&system);
  return {{"version", build.version},
          {"commit", build.commit},
          {"libtorch", build.libtorch},
          {"cuda", build.cuda},
          {"host",
           {{"processor", processor_name()},
            {"cores", std::thread::hardware_concurrency()},
            {"system", fmt::format("{} {}", system.sysname, system.release)}}}};
}

std::string run_record_path(const std::string& output) {
  return output + ".run.json";
}

Json begin_run_record(const OptionTable& table) {
  Json record{
      {"schema", kSchema}, {"program", "ttt"}, {"command", table.command()}, {"status", "running"}};
  record.update(describe_build());
  record.update({{"started", utc_now()}, {"finished", nullptr}, {"options", options_json(table)}});
  return record;
}

void finish_run_record(Json& record, const std::string& output, const std::string& status) {
  record["status"] = status;
  if (status != "running") record["finished"] = utc_now();
  write_file(run_record_path(output), dump_json(record, 2) + "\n");
}

Json read_run_record(const std::string& output) {
  const std::string path = run_record_path(output);
  std::ifstream file(path, std::ios::binary);
  TTT_CHECK(file.is_open(), usage, "the run record of the earlier run is missing", printable(path),
            "give --overwrite to start anew");
  Json record = Json::parse(file, nullptr, /*allow_exceptions=*/false);
  TTT_CHECK(record.is_object() && record.contains("identity") && record["identity"].is_object(),
            usage, "this is not a run record", printable(path), "give --overwrite to start anew");
  return record;
}

void check_same_run(const Json& earlier, const Json& now, const std::string& output) {
  // Both through text, so that equal values have equal types.
  const Json before = Json::parse(dump_json(earlier.at("identity")));
  const Json after = Json::parse(dump_json(now.at("identity")));
  for (const auto& [key, value] : after.items()) {
    if (before.contains(key) && before[key] == value) continue;
    const std::string old = before.contains(key) ? dump_json(before[key]) : "unknown";
    throw Error(ErrorKind::usage,
                fmt::format("can't resume: {} was {}, now it is {}", key, printable(old, 80),
                            printable(dump_json(value), 80)),
                printable(output), "use the earlier value, or give --overwrite to start anew");
  }
}

}  // namespace ttt::cli
