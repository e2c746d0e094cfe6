// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>

namespace ttt::test {

/// Shows, by running the program, that a flag changes what it does.
using Effect = std::function<void()>;

/// One per flag of a subcommand, by the flag's name. effects_test.cpp fails for a flag without one.
std::map<std::string, Effect> list_effects();
std::map<std::string, Effect> inspect_effects();
std::map<std::string, Effect> convert_effects();
std::map<std::string, Effect> bench_effects();
std::map<std::string, Effect> classify_effects();
std::map<std::string, Effect> render_effects();
std::map<std::string, Effect> selftest_effects();
std::map<std::string, Effect> train_effects();

/// The options that add_general_options() gives to every subcommand; `arguments` is a call of it
/// that succeeds.
void add_general_effects(std::map<std::string, Effect>& effects,
                         const std::vector<std::string>& arguments);

}  // namespace ttt::test
