// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/inputs/text.h"

#include "core/error.h"

#include <gtest/gtest.h>

namespace ttt {
namespace {

using namespace std::string_literals;
using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  return read_text_lines({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

std::string utf16(const std::u16string& text, bool big_endian) {
  std::string out;
  for (const char16_t unit : text) {
    const char low = static_cast<char>(unit & 0xFF);
    const char high = static_cast<char>(unit >> 8);
    out += big_endian ? high : low;
    out += big_endian ? low : high;
  }
  return out;
}

TEST(Text, LineEndsOfAllSystems) {
  EXPECT_EQ(lines_of("a\nb\r\nc\rd"), (Lines{"a", "b", "c", "d"}));
  EXPECT_EQ(lines_of("a\n\nb\n"), (Lines{"a", "", "b"}));
  EXPECT_EQ(lines_of("a\r\n\r\nb"), (Lines{"a", "", "b"}));
  EXPECT_EQ(lines_of(""), Lines{});
  EXPECT_EQ(lines_of("\n"), Lines{""});
}

TEST(Text, ByteOrderMarksDontStickToTheFirstWord) {
  EXPECT_EQ(lines_of("\xEF\xBB\xBFtench\n"), Lines{"tench"});
  const std::u16string text = u"h\u00FCbsch \U0001F41F\r\nzwei\r\n";
  const Lines expected{
      "h\xC3\xBC"
      "bsch \xF0\x9F\x90\x9F",
      "zwei"};
  EXPECT_EQ(lines_of("\xFF\xFE" + utf16(text, false)), expected);
  EXPECT_EQ(lines_of("\xFE\xFF" + utf16(text, true)), expected);
  EXPECT_EQ(lines_of(utf16(text, false)), expected) << "without a mark";
  EXPECT_EQ(lines_of(utf16(text, true)), expected) << "without a mark";
}

TEST(Text, OtherBytesStayAsTheyAre) {
  EXPECT_EQ(lines_of("caf\xE9\n\xFF"), (Lines{"caf\xE9", "\xFF"}));
}

TEST(Text, HalfSurrogatesBecomeTheReplacementCharacter) {
  EXPECT_EQ(lines_of("\xFF\xFE" + utf16(u"a"s + char16_t{0xD800} + u"b", false)),
            Lines{"a\xEF\xBF\xBD"
                  "b"});
}

TEST(Table, QuotesDelimitersAndLineEnds) {
  const std::vector<TableRow> rows = parse_table(
      "path,label\r\n\"a,b.jpg\",\"say \"\"hi\"\"\"\n\n  x.png , cat \n\"two\nlines\",1\nlast,2",
      ',', "t.csv");
  ASSERT_EQ(rows.size(), 5U);
  EXPECT_EQ(rows[0].fields, (Lines{"path", "label"}));
  EXPECT_EQ(rows[1].fields, (Lines{"a,b.jpg", "say \"hi\""}));
  EXPECT_EQ(rows[2].fields, (Lines{"x.png", "cat"}));
  EXPECT_EQ(rows[2].line, 4U);
  EXPECT_EQ(rows[3].fields, (Lines{"two\nlines", "1"}));
  EXPECT_EQ(rows[4].fields, (Lines{"last", "2"}));
  EXPECT_EQ(rows[4].line, 7U);
}

TEST(Table, EmptyFieldsCount) {
  EXPECT_EQ(parse_table("a,,b,", ',', "t")[0].fields, (Lines{"a", "", "b", ""}));
  EXPECT_EQ(parse_table("a\t\tb", '\t', "t")[0].fields, (Lines{"a", "", "b"}));
}

TEST(Table, AnOpenQuoteIsAnErrorWithItsLine) {
  try {
    parse_table("a,b\nc,\"d\ne\n", ',', "t.csv");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("line 2"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace ttt
