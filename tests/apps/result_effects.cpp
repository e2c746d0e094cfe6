// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/result_effects.h"

#include "tests/support/paths.h"

#include <gtest/gtest.h>

namespace ttt::test {

using Json = nlohmann::json;

Json last_progress(const Arguments& arguments, const std::string& directory) {
  const TempDir folder;
  const std::string file = folder / "progress";
  // The shell opens the descriptor; it gets the call as its arguments, so nothing needs quotes.
  Arguments call{"/bin/sh", "-c", "exec \"$@\" --progress-fd 3 3>\"$0\"", file, ttt_path()};
  call.insert(call.end(), arguments.begin(), arguments.end());
  const ProgramResult result = run_program({.arguments = call, .directory = directory});
  EXPECT_EQ(result.code, 0) << result.err;
  const std::string text = read_text_file(file);
  EXPECT_FALSE(text.empty());
  return text.empty() ? Json::object()
                      : Json::parse(text.substr(text.rfind('\n', text.size() - 2) + 1));
}

void add_result_file_effects(std::map<std::string, Effect>& effects, const Arguments& arguments) {
  const auto run = [arguments](const Arguments& more) {
    Arguments all = arguments;
    all.insert(all.end(), more.begin(), more.end());
    return run_ttt(all);
  };
  effects["format"] = [=] {
    EXPECT_TRUE(run({"--format", "csv"}).out.starts_with("kind,"));
    EXPECT_TRUE(run({"--format", "json"}).out.starts_with("{\"schema\": 1"));
  };
  effects["output"] = [=] {
    const TempDir folder;
    const ProgramResult result = run({"-o", folder / "new/a.jsonl"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_NE(read_text_file(folder / "new/a.jsonl").find("\"status\":\"summary\""),
              std::string::npos);
    const Json record = Json::parse(read_text_file(folder / "new/a.jsonl.run.json"));
    EXPECT_EQ(record["command"], arguments[0]);
    EXPECT_EQ(record["options"]["op"]["origin"], "command line");
    expect_error(run({"-o", "/dev/null/x.csv"}), 5, "");
    expect_error(run({"-o", folder / "x.pdf"}), 2, "which format");
  };
  effects["overwrite"] = [=] {
    const TempDir folder;
    write_text_file(folder / "a.csv", "old");
    expect_error(run({"-o", folder / "a.csv"}), 5, "exists already", "--overwrite");
    EXPECT_EQ(read_text_file(folder / "a.csv"), "old");
    EXPECT_EQ(run({"-o", folder / "a.csv", "--overwrite"}).code, 0);
    EXPECT_NE(read_text_file(folder / "a.csv"), "old");
  };
  effects["progress-fd"] = [=] {
    const Json last = last_progress(arguments);
    EXPECT_EQ(last["task"], arguments[0]);
    EXPECT_EQ(last["finished"], true);
  };
}

}  // namespace ttt::test
