// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/checks.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace ttt::fuzz {
namespace {

std::set<std::pair<std::string_view, std::uint_least32_t>> places;

}  // namespace

std::size_t places_of_errors() {
  return places.size();
}

void require_printable(std::string_view text, const char* what) {
  const bool controls = std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  });
  require(!controls, what);
  try {
    static_cast<void>(nlohmann::json(text).dump());  // strict about UTF-8
  } catch (const nlohmann::json::exception&) {
    throw Violation(what);
  }
}

void check_error(const Error& error, std::initializer_list<ErrorKind> allowed, bool hint,
                 Digest& digest) {
  if (std::find(allowed.begin(), allowed.end(), error.kind()) == allowed.end())
    throw Violation("an error of the kind " + std::string(to_string(error.kind())) + ": " +
                    error.what());
  require(!error.message().empty(), "an error has no message");
  require(!hint || !error.hint().empty(), "an error has no hint");
  require_printable(error.what(), "an error's message is not printable");
  require_printable(error.hint(), "an error's hint is not printable");
  places.emplace(error.source().file_name(), error.source().line());
  digest.add(error.what());
  digest.add(error.hint());
}

}  // namespace ttt::fuzz
