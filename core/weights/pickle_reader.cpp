// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/weights/pickle_reader.h"

#include "core/error.h"

#include <spdlog/fmt/fmt.h>

#include <charconv>
#include <cstring>

namespace ttt::weights {
namespace {

/// More values than any checkpoint's pickle has (a tensor takes about fifteen); bounds memory.
constexpr std::uint64_t kMaxValues = 4'000'000;

}  // namespace

void PickleReader::fail(const std::string& what) const {
  throw Error(ErrorKind::weights, "the pickle inside the file is damaged: " + what, where_,
              "fetch the file again, or save it again with torch.save");
}

std::string_view PickleReader::take(std::uint64_t count) {
  if (count > bytes_.size() - position_)
    fail(fmt::format("it ends at byte {}, but {} more are needed", bytes_.size(),
                     count - (bytes_.size() - position_)));
  const std::string_view taken = bytes_.substr(position_, count);
  position_ += count;
  return taken;
}

std::string_view PickleReader::take_line() {
  const std::size_t end = bytes_.find('\n', position_);
  if (end == std::string_view::npos) fail("a line has no end");
  const std::string_view line = bytes_.substr(position_, end - position_);
  position_ = end + 1;
  return line;
}

std::uint64_t PickleReader::take_number(std::size_t count) {
  std::uint64_t value = 0;
  std::memcpy(&value, take(count).data(), count);
  return value;
}

void PickleReader::spend(std::uint64_t amount) {
  spent_ += amount;
  if (spent_ > kMaxValues) fail(fmt::format("it has more than {} values", kMaxValues));
}

void PickleReader::push(PickleValue value) {
  spend(1);
  stack_.push_back(value);
}

PickleValue PickleReader::pop() {
  if (stack_.empty() || stack_.back().kind == PickleKind::mark) fail("a value is missing");
  const PickleValue value = stack_.back();
  stack_.pop_back();
  return value;
}

PickleValue& PickleReader::top() {
  if (stack_.empty() || stack_.back().kind == PickleKind::mark) fail("a value is missing");
  return stack_.back();
}

std::vector<PickleValue> PickleReader::pop_to_mark() {
  std::size_t at = stack_.size();
  while (at > 0 && stack_[at - 1].kind != PickleKind::mark) --at;
  if (at == 0) fail("a mark is missing");
  std::vector<PickleValue> values(stack_.begin() + static_cast<std::ptrdiff_t>(at), stack_.end());
  stack_.resize(at - 1);
  return values;
}

void PickleReader::memoize(std::uint64_t index) {
  spend(1);
  memo_[index] = top();
}

void PickleReader::recall(std::uint64_t index) {
  const auto at = memo_.find(index);
  if (at == memo_.end()) fail(fmt::format("it recalls value {}, which it never stored", index));
  push(at->second);
}

PickleValue PickleReader::make_text(PickleKind kind, std::string_view text) {
  document_.texts.push_back(text);
  return {kind, document_.texts.size() - 1};
}

PickleValue PickleReader::make_container(PickleKind kind, std::vector<PickleValue> items) {
  document_.containers.push_back(std::move(items));
  return {kind, document_.containers.size() - 1};
}

PickleValue PickleReader::make_global(std::string_view module, std::string_view name) {
  document_.globals.push_back({module, name});
  return {PickleKind::global, document_.globals.size() - 1};
}

PickleValue PickleReader::make_named_object(std::string_view module, std::string_view name) {
  const PickleValue items = make_container(PickleKind::list, {});
  document_.objects.push_back({{module, name}, items.payload});
  return {PickleKind::object, document_.objects.size() - 1};
}

PickleValue PickleReader::make_object(PickleValue type) {
  if (type.kind != PickleKind::global) return make_named_object("pickle", "object");
  const PickleGlobal global = document_.globals[type.payload];
  return make_named_object(global.module, global.name);
}

PickleValue PickleReader::make_integer(std::string_view little_endian) {
  // Python integers have any size; none beyond 64 bits describes a tensor.
  if (little_endian.size() > 8) return make_named_object("builtins", "int");
  const bool negative = !little_endian.empty() && (little_endian.back() & 0x80) != 0;
  std::uint64_t value = negative ? ~std::uint64_t{0} : 0;
  std::memcpy(&value, little_endian.data(), little_endian.size());
  return {PickleKind::integer, value};
}

PickleValue PickleReader::parse_integer(std::string_view decimal) {
  if (decimal == "00" || decimal == "01") return {PickleKind::boolean, decimal == "01" ? 1U : 0U};
  if (decimal.ends_with('L')) decimal.remove_suffix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(decimal.data(), decimal.data() + decimal.size(), value);
  if (error == std::errc::result_out_of_range) return make_named_object("builtins", "int");
  if (error != std::errc() || end != decimal.data() + decimal.size())
    fail("a number is unreadable");
  return {PickleKind::integer, static_cast<std::uint64_t>(value)};
}

void PickleReader::add_items(std::vector<PickleValue> items, bool pairs) {
  if (pairs && items.size() % 2 != 0) fail("a dictionary has a key without a value");
  const PickleValue target = top();
  const bool fits = target.kind == PickleKind::object ||
                    (pairs ? target.kind == PickleKind::dict
                           : target.kind == PickleKind::list || target.kind == PickleKind::set);
  if (!fits) fail("items are added to what is no container");
  // Foreign lists keep nothing: their items would pass for keys and values.
  if (!pairs && target.kind == PickleKind::object) return;
  std::vector<PickleValue>& list =
      document_
          .containers[target.kind == PickleKind::object ? document_.objects[target.payload].items
                                                        : target.payload];
  list.insert(list.end(), items.begin(), items.end());
}

PickleDocument read_pickle(std::string_view bytes, const std::string& where) {
  return PickleReader(bytes, where).read();
}

}  // namespace ttt::weights
