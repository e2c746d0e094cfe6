// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/effects.h"

#include "tests/apps/run_program.h"
#include "tests/apps/view/view_effects.h"

#include <gtest/gtest.h>

#include <set>

namespace ttt::test {
namespace {

std::map<std::string, std::map<std::string, Effect>> all_effects() {
  return {{"list", list_effects()},       {"inspect", inspect_effects()},
          {"convert", convert_effects()}, {"classify", classify_effects()},
          {"render", render_effects()},   {"selftest", selftest_effects()},
          {"bench", bench_effects()},     {"train", train_effects()},
          {"view", view_effects()}};
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

/// Runs every `count`-th effect, so that ctest can run parts of a long list side by side.
/// Runs every `count`-th effect, so that ctest can run parts of a long list side by side.
void check(const std::map<std::string, Effect>& effects, std::size_t part = 0,
           std::size_t count = 1) {
  std::size_t i = 0;
  for (const auto& [flag, effect] : effects) {
    if (i++ % count != part) continue;
    SCOPED_TRACE("--" + flag);
    effect();
  }
}

TEST(Flags, OfListHaveAnEffect) {
  check(list_effects());
}
TEST(Flags, OfInspectHaveAnEffect) {
  check(inspect_effects());
}
TEST(Flags, OfConvertHaveAnEffect) {
  check(convert_effects());
}
TEST(Flags, OfClassifyHaveAnEffect1) {
  check(classify_effects(), 0, 4);
}
TEST(Flags, OfClassifyHaveAnEffect2) {
  check(classify_effects(), 1, 4);
}
TEST(Flags, OfClassifyHaveAnEffect3) {
  check(classify_effects(), 2, 4);
}
TEST(Flags, OfClassifyHaveAnEffect4) {
  check(classify_effects(), 3, 4);
}

TEST(Flags, OfRenderHaveAnEffect1) {
  check(render_effects(), 0, 4);
}
TEST(Flags, OfRenderHaveAnEffect2) {
  check(render_effects(), 1, 4);
}
TEST(Flags, OfRenderHaveAnEffect3) {
  check(render_effects(), 2, 4);
}
TEST(Flags, OfRenderHaveAnEffect4) {
  check(render_effects(), 3, 4);
}

TEST(Flags, OfViewHaveAnEffect1) {
  check(view_effects(), 0, 2);
}
TEST(Flags, OfViewHaveAnEffect2) {
  check(view_effects(), 1, 2);
}

}  // namespace
}  // namespace ttt::test
