// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/mutate.h"

namespace ttt::fuzz {
namespace {

/// Words, and each mark or line end by itself.
Parts split_text(std::string_view bytes, Random&) {
  constexpr std::string_view kMarks = "{}[]:,;\"\n\r\t= ";
  Parts parts;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find_first_of(kMarks), bytes.size());
    const std::size_t size = end == 0 ? 1 : end;
    parts.push_back({"", std::string(bytes.substr(0, size))});
    bytes.remove_prefix(size);
  }
  return parts;
}

std::string join_text(const Parts& parts, Random&) {
  std::string bytes;
  for (const Part& part : parts) bytes += part.head + part.body;
  return bytes;
}

Part make_text(Random& random);

const Format& format_with_tokens() {
  using namespace std::string_literals;
  static const Format format{split_text,
                             join_text,
                             make_text,
                             nullptr,
                             {"{",
                              "}",
                              "[",
                              "]",
                              ":",
                              ",",
                              "\"",
                              "\n",
                              "\r\n",
                              "\t",
                              "null",
                              "true",
                              "-1",
                              "1e400",
                              "0.1e-9",
                              "\\",
                              "\\u0000",
                              "\\uD800",
                              "*",
                              "?",
                              "**",
                              "[a-z]",
                              "[!",
                              "#",
                              ";",
                              "@",
                              "path",
                              "label",
                              "..",
                              "NaN",
                              "\xEF\xBB\xBF",
                              "\xFF\xFE",
                              "\xFE\xFF",
                              "\0"s,
                              "a\0"s,
                              "\xC3",
                              "\xF0\x9F\x98\x80",
                              "18446744073709551615"}};
  return format;
}

Part make_text(Random& random) {
  const Tokens& tokens = format_with_tokens().tokens;
  return {"", random.pick(tokens)};
}

}  // namespace

const Format& text_format() {
  return format_with_tokens();
}

}  // namespace ttt::fuzz
