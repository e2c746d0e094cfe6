// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/weights/pickle_reader.h"

#include <spdlog/fmt/fmt.h>

namespace ttt::weights {
namespace {

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
        !read_container(opcode) && !read_items(opcode) && !read_name(opcode) &&
        !read_object(opcode))
      fail(fmt::format("its instruction 0x{:02X} at byte {} doesn't exist", opcode, position_ - 1));
  }
  document_.root = pop();
  document_.consumed = position_;
  return std::move(document_);
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
    default:
      return false;
  }
}

bool PickleReader::read_items(unsigned char opcode) {
  switch (opcode) {
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

bool PickleReader::read_name(unsigned char opcode) {
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
    default:
      return false;
  }
}

bool PickleReader::read_object(unsigned char opcode) {
  switch (opcode) {
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

}  // namespace ttt::weights
