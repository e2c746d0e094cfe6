// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"

#include <gtest/gtest.h>

namespace ttt {
namespace {

TEST(Error, CarriesKindPlaceAndHint) {
  try {
    TTT_CHECK(1 + 1 == 3, weights, "the file is cut", "a.pth", "download it again");
    FAIL() << "no exception";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::weights);
    EXPECT_STREQ(error.what(), "the file is cut (a.pth)");
    EXPECT_EQ(error.message(), "the file is cut");
    EXPECT_EQ(error.hint(), "download it again");
    EXPECT_NE(std::string(error.source().file_name()).find("error_test"), std::string::npos);
  }
}

TEST(Error, ExitCodesAreThoseOfTheInterface) {
  EXPECT_EQ(exit_code(ErrorKind::usage), 2);
  EXPECT_EQ(exit_code(ErrorKind::weights), 3);
  EXPECT_EQ(exit_code(ErrorKind::input), 4);
  EXPECT_EQ(exit_code(ErrorKind::unsupported), 4);
  EXPECT_EQ(exit_code(ErrorKind::output), 5);
  EXPECT_EQ(exit_code(ErrorKind::memory), 6);
  EXPECT_EQ(exit_code(ErrorKind::device), 7);
  EXPECT_EQ(exit_code(ErrorKind::check), 8);
  EXPECT_EQ(exit_code(ErrorKind::internal), 70);
  EXPECT_EQ(exit_code(ErrorKind::interrupted), 130);
}

TEST(Printable, EscapesControlBytesAndBadUtf8) {
  EXPECT_EQ(printable("a\nb\x1b[31m"), "a\\x0Ab\\x1B[31m");
  EXPECT_EQ(printable("gr\xC3\xBC\xC3\x9F"), "gr\xC3\xBC\xC3\x9F");
  EXPECT_EQ(printable("\xFF\xC3"), "\\xFF\\xC3");
  EXPECT_EQ(printable("\xED\xA0\x80"), "\\xED\\xA0\\x80");
  EXPECT_EQ(printable("abcdef", 3), "abc…");
}

}  // namespace
}  // namespace ttt
