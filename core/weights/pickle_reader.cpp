// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/weights/pickle_reader.h"

#include "core/error.h"

#include <spdlog/fmt/fmt.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <limits>

namespace ttt::weights {
namespace {

/// More values than any checkpoint's pickle has (a tensor takes about fifteen); bounds memory.
constexpr std::uint64_t kMaxValues = 4'000'000;

/// Opcodes of CPython's pickle module, protocols 0 to 5.
enum Opcode : unsigned char {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kPopMark = '1',
  kDup = '2',
  kFloat = 'F',
  kInt = 'I',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kLong = 'L',
  kBinInt2 = 'M',
  kNone = 'N',
  kPersId = 'P',
  kBinPersId = 'Q',
  kReduce = 'R',
  kString = 'S',
  kBinString = 'T',
  kShortBinString = 'U',
  kUnicode = 'V',
  kBinUnicode = 'X',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kDict = 'd',
  kAppends = 'e',
  kGet = 'g',
  kBinGet = 'h',
  kInst = 'i',
  kLongBinGet = 'j',
  kList = 'l',
  kObj = 'o',
  kPut = 'p',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  kBinFloat = 'G',
  kEmptyList = ']',
  kEmptyTuple = ')',
  kEmptyDict = '}',
  kProto = 0x80,
  kNewObj = 0x81,
  kExt1 = 0x82,
  kExt2 = 0x83,
  kExt4 = 0x84,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kLong4 = 0x8b,
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kBinBytes8 = 0x8e,
  kEmptySet = 0x8f,
  kAddItems = 0x90,
  kFrozenSet = 0x91,
  kNewObjEx = 0x92,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
  kByteArray8 = 0x96,
  kNextBuffer = 0x97,
  kReadOnlyBuffer = 0x98,
};

}  // namespace

PickleDocument PickleReader::read() {
  while (true) {
    const auto opcode = static_cast<unsigned char>(take(1)[0]);
    if (opcode == kStop) break;
    if (!read_constant(opcode) && !read_text(opcode) && !read_memo_or_stack(opcode) &&
        !read_container(opcode) && !read_object(opcode))
      fail(fmt::format("its instruction 0x{:02X} at byte {} doesn't exist", opcode, position_ - 1));
  }
  document_.root = pop();
  document_.consumed = position_;
  return std::move(document_);
}

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

bool PickleReader::read_constant(unsigned char opcode) {
  const auto integer = [](std::uint64_t value) { return PickleValue{PickleKind::integer, value}; };
  switch (opcode) {
    case kNone:
      push({});
      return true;
    case kNewTrue:
      push({PickleKind::boolean, 1});
      return true;
    case kNewFalse:
      push({PickleKind::boolean, 0});
      return true;
    case kInt:
    case kLong:
      push(parse_integer(take_line()));
      return true;
    case kBinInt:
      push(make_integer(take(4)));
      return true;
    case kBinInt1:
      push(integer(take_number(1)));
      return true;
    case kBinInt2:
      push(integer(take_number(2)));
      return true;
    case kLong1:
      push(make_integer(take(take_number(1))));
      return true;
    case kLong4:
      push(make_integer(take(take_number(4))));
      return true;
    // No tensor depends on a float, so its value isn't kept.
    case kFloat:
      take_line();
      push({PickleKind::real, 0});
      return true;
    case kBinFloat:
      take(8);
      push({PickleKind::real, 0});
      return true;
    case kProto:
      if (take_number(1) > 5) fail("its protocol is newer than 5");
      return true;
    case kFrame:
      take(8);
      return true;
    default:
      return false;
  }
}

bool PickleReader::read_text(unsigned char opcode) {
  const auto push_text = [this](PickleKind kind, std::string_view text) {
    push(make_text(kind, text));
    return true;
  };
  switch (opcode) {
    case kBinUnicode:
      return push_text(PickleKind::text, take(take_number(4)));
    case kShortBinUnicode:
      return push_text(PickleKind::text, take(take_number(1)));
    case kBinUnicode8:
      return push_text(PickleKind::text, take(take_number(8)));
    case kBinString:
      return push_text(PickleKind::text, take(take_number(4)));
    case kShortBinString:
      return push_text(PickleKind::text, take(take_number(1)));
    case kBinBytes:
      return push_text(PickleKind::bytes, take(take_number(4)));
    case kShortBinBytes:
      return push_text(PickleKind::bytes, take(take_number(1)));
    case kBinBytes8:
    case kByteArray8:
      return push_text(PickleKind::bytes, take(take_number(8)));
    // Protocol 0. Escapes inside are kept as they are: names of tensors are plain ASCII.
    case kUnicode:
      return push_text(PickleKind::text, take_line());
    case kString: {
      std::string_view line = take_line();
      if (line.size() < 2 || (line.front() != '\'' && line.front() != '"') ||
          line.back() != line.front())
        fail("a text has no quotes");
      return push_text(PickleKind::text, line.substr(1, line.size() - 2));
    }
    default:
      return false;
  }
}

bool PickleReader::read_memo_or_stack(unsigned char opcode) {
  const auto index_of = [this](std::string_view line) {
    const PickleValue value = parse_integer(line);
    if (value.kind == PickleKind::object) fail("a memo number is too large");
    return value.payload;
  };
  switch (opcode) {
    case kMark:
      push({PickleKind::mark, 0});
      return true;
    case kPop:
      if (stack_.empty()) fail("a value is missing");
      stack_.pop_back();
      return true;
    case kPopMark:
      pop_to_mark();
      return true;
    case kDup:
      push(top());
      return true;
    case kPut:
      memoize(index_of(take_line()));
      return true;
    case kBinPut:
      memoize(take_number(1));
      return true;
    case kLongBinPut:
      memoize(take_number(4));
      return true;
    case kMemoize:
      memoize(memo_.size());
      return true;
    case kGet:
      recall(index_of(take_line()));
      return true;
    case kBinGet:
      recall(take_number(1));
      return true;
    case kLongBinGet:
      recall(take_number(4));
      return true;
    default:
      return false;
  }
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

bool PickleReader::read_container(unsigned char opcode) {
  const auto tuple_of = [this](std::size_t count) {
    std::vector<PickleValue> items(count);
    for (std::size_t i = count; i > 0; --i) items[i - 1] = pop();
    push(make_container(PickleKind::tuple, std::move(items)));
  };
  switch (opcode) {
    case kEmptyTuple:
      tuple_of(0);
      return true;
    case kTuple1:
      tuple_of(1);
      return true;
    case kTuple2:
      tuple_of(2);
      return true;
    case kTuple3:
      tuple_of(3);
      return true;
    case kTuple:
      push(make_container(PickleKind::tuple, pop_to_mark()));
      return true;
    case kEmptyList:
      push(make_container(PickleKind::list, {}));
      return true;
    case kList:
      push(make_container(PickleKind::list, pop_to_mark()));
      return true;
    case kEmptySet:
      push(make_container(PickleKind::set, {}));
      return true;
    case kFrozenSet:
      push(make_container(PickleKind::set, pop_to_mark()));
      return true;
    case kEmptyDict:
      push(make_container(PickleKind::dict, {}));
      return true;
    case kDict: {
      std::vector<PickleValue> items = pop_to_mark();
      push(make_container(PickleKind::dict, {}));
      add_items(std::move(items), true);
      return true;
    }
    case kAppend:
      add_items({pop()}, false);
      return true;
    case kAppends:
    case kAddItems:
      add_items(pop_to_mark(), false);
      return true;
    case kSetItem: {
      const PickleValue value = pop();
      const PickleValue key = pop();
      add_items({key, value}, true);
      return true;
    }
    case kSetItems:
      add_items(pop_to_mark(), true);
      return true;
    default:
      return false;
  }
}

bool PickleReader::read_object(unsigned char opcode) {
  switch (opcode) {
    case kGlobal:
    case kInst: {
      const std::string_view module = take_line();
      const std::string_view name = take_line();
      if (opcode == kInst) pop_to_mark();
      push(opcode == kInst ? make_named_object(module, name) : make_global(module, name));
      return true;
    }
    case kStackGlobal: {
      const PickleValue name = pop();
      const PickleValue module = pop();
      if (name.kind != PickleKind::text || module.kind != PickleKind::text)
        fail("a class is named by something else than text");
      push(make_global(document_.text(module), document_.text(name)));
      return true;
    }
    case kObj: {
      const std::vector<PickleValue> values = pop_to_mark();
      push(make_object(values.empty() ? PickleValue{} : values.front()));
      return true;
    }
    case kNewObj:
    case kNewObjEx: {
      if (opcode == kNewObjEx) pop();
      pop();
      push(make_object(pop()));
      return true;
    }
    case kReduce: {
      const PickleValue arguments = pop();
      const PickleValue function = pop();
      push(call(function, arguments));
      return true;
    }
    // The state of an object is for its own code; containers that torch writes carry only notes.
    case kBuild:
      pop();
      top();
      return true;
    case kPersId:
      push(make_named_object("pickle", "persistent_id"));
      take_line();
      return true;
    case kBinPersId:
      push(load_persistent(pop()));
      return true;
    case kExt1:
      take(1);
      push(make_named_object("pickle", "extension"));
      return true;
    case kExt2:
      take(2);
      push(make_named_object("pickle", "extension"));
      return true;
    case kExt4:
      take(4);
      push(make_named_object("pickle", "extension"));
      return true;
    case kNextBuffer:
      push(make_named_object("pickle", "buffer"));
      return true;
    case kReadOnlyBuffer:
      top();
      return true;
    default:
      return false;
  }
}

PickleDocument read_pickle(std::string_view bytes, const std::string& where) {
  return PickleReader(bytes, where).read();
}

}  // namespace ttt::weights
