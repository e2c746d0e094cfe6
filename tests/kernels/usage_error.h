// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/error.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>

namespace ttt::test {

/// The call must throw Error(usage) whose text has `text` in it, with a hint.
inline void expect_usage_error(const std::function<void()>& call, std::string_view text) {
  try {
    call();
    ADD_FAILURE() << "no error: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    EXPECT_FALSE(error.hint().empty());
  }
}

}  // namespace ttt::test
