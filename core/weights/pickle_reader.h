// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/weights/pickle_document.h"

#include <unordered_map>

namespace ttt::weights {

/// The stack machine behind read_pickle().
class PickleReader {
 public:
  PickleReader(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {}
  PickleDocument read();

 private:
  // Input.
  std::string_view take(std::uint64_t count);
  std::string_view take_line();
  std::uint64_t take_number(std::size_t bytes);  // little-endian

  // Stack and memo.
  void push(PickleValue value);
  PickleValue pop();
  PickleValue& top();
  std::vector<PickleValue> pop_to_mark();
  void memoize(std::uint64_t index);
  void recall(std::uint64_t index);
  void spend(std::uint64_t amount);

  // Groups of opcodes (pickle_opcodes.cpp); each returns false for opcodes that it doesn't know.
  bool read_constant(unsigned char opcode);
  bool read_text(unsigned char opcode);
  bool read_memo_or_stack(unsigned char opcode);
  bool read_container(unsigned char opcode);
  bool read_items(unsigned char opcode);
  bool read_name(unsigned char opcode);
  bool read_object(unsigned char opcode);

  // Values.
  PickleValue make_text(PickleKind kind, std::string_view text);
  PickleValue make_container(PickleKind kind, std::vector<PickleValue> items);
  PickleValue make_global(std::string_view module, std::string_view name);
  PickleValue make_object(PickleValue type);
  PickleValue make_named_object(std::string_view module, std::string_view name);
  PickleValue make_integer(std::string_view little_endian);
  PickleValue parse_integer(std::string_view decimal);
  void add_items(std::vector<PickleValue> items, bool pairs);

  // What torch's functions would build (pickle_torch.cpp).
  PickleValue call(PickleValue function, PickleValue arguments);
  PickleValue rebuild_tensor(std::span<const PickleValue> arguments, bool has_dtype);
  PickleValue ordered_dict(std::span<const PickleValue> arguments);
  PickleValue load_persistent(PickleValue id);

  [[noreturn]] void fail(const std::string& what) const;

  std::string_view bytes_;
  const std::string& where_;
  std::size_t position_ = 0;
  std::uint64_t spent_ = 0;
  PickleDocument document_;
  std::vector<PickleValue> stack_;
  std::unordered_map<std::uint64_t, PickleValue> memo_;
};

}  // namespace ttt::weights
