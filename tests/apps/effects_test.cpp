// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/effects.h"

#include "tests/apps/run_program.h"

#include <gtest/gtest.h>

#include <set>

namespace ttt::test {
namespace {

std::map<std::string, std::map<std::string, Effect>> all_effects() {
  return {{"list", list_effects()},
          {"inspect", inspect_effects()},
          {"convert", convert_effects()},
          {"classify", classify_effects()},
          {"train", train_effects()}};
}

TEST(Flags, EachHasAnEffectTest) {
  const auto listing = nlohmann::json::parse(run_ttt({"list", "options", "--format", "json"}).out);
  std::set<std::string> flags;
  for (const auto& option : listing["options"])
    flags.insert(option["command"].get<std::string>() + " --" + option["name"].get<std::string>());
  std::set<std::string> tested;
  for (const auto& [command, effects] : all_effects())
    for (const auto& [flag, effect] : effects) tested.insert(command + " --" + flag);
  for (const std::string& flag : flags)
    EXPECT_TRUE(tested.contains(flag)) << "no effect test: ttt " << flag;
  for (const std::string& flag : tested)
    EXPECT_TRUE(flags.contains(flag)) << "no such flag: ttt " << flag;
}

void check(const std::map<std::string, Effect>& effects) {
  for (const auto& [flag, effect] : effects) {
    SCOPED_TRACE("--" + flag);
    effect();
  }
}

// One test per subcommand: the effects of one share the runs they compare with.
TEST(Flags, OfListHaveAnEffect) {
  check(list_effects());
}
TEST(Flags, OfInspectHaveAnEffect) {
  check(inspect_effects());
}
TEST(Flags, OfConvertHaveAnEffect) {
  check(convert_effects());
}

}  // namespace
}  // namespace ttt::test
