// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/common/option_table.h"

#include <string>
#include <string_view>

namespace ttt::cli {

/// One "option = value" from one layer, before the value is parsed.
struct Assignment {
  std::string name;  ///< kebab-case name of an option of the table
  std::string value;
  std::string where;  ///< for messages: "--top-k", "TTT_TOP_K", "run.yaml:3, top-k"
  std::string
      origin;  ///< for --print-config: "command line", "environment TTT_TOP_K", "run.yaml:3"
};

/// The option that `name` means. Throws Error(usage) with the nearest name when there is none.
/// `name` is kebab-case or snake_case, without dashes in front.
const Option& known_option(OptionTable& table, std::string_view name, const std::string& where);

}  // namespace ttt::cli
