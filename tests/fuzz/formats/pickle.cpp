// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/mutate.h"

#include <array>
#include <charconv>

namespace ttt::fuzz {
namespace {

/// What follows an instruction.
enum class Argument { none, one, two, four, eight, line, two_lines, text1, text4, text8 };

struct Instruction {
  unsigned char code;
  Argument argument;
};

/// The instructions of protocols 0 to 5 (CPython: Lib/pickle.py).
constexpr std::array kInstructions{
    Instruction{'(', Argument::none},      Instruction{'.', Argument::none},
    Instruction{'0', Argument::none},      Instruction{'1', Argument::none},
    Instruction{'2', Argument::none},      Instruction{'F', Argument::line},
    Instruction{'I', Argument::line},      Instruction{'J', Argument::four},
    Instruction{'K', Argument::one},       Instruction{'L', Argument::line},
    Instruction{'M', Argument::two},       Instruction{'N', Argument::none},
    Instruction{'P', Argument::line},      Instruction{'Q', Argument::none},
    Instruction{'R', Argument::none},      Instruction{'S', Argument::line},
    Instruction{'T', Argument::text4},     Instruction{'U', Argument::text1},
    Instruction{'V', Argument::line},      Instruction{'X', Argument::text4},
    Instruction{'a', Argument::none},      Instruction{'b', Argument::none},
    Instruction{'c', Argument::two_lines}, Instruction{'d', Argument::none},
    Instruction{'e', Argument::none},      Instruction{'g', Argument::line},
    Instruction{'h', Argument::one},       Instruction{'i', Argument::two_lines},
    Instruction{'j', Argument::four},      Instruction{'l', Argument::none},
    Instruction{'o', Argument::none},      Instruction{'p', Argument::line},
    Instruction{'q', Argument::one},       Instruction{'r', Argument::four},
    Instruction{'s', Argument::none},      Instruction{'t', Argument::none},
    Instruction{'u', Argument::none},      Instruction{'B', Argument::text4},
    Instruction{'C', Argument::text1},     Instruction{'G', Argument::eight},
    Instruction{']', Argument::none},      Instruction{')', Argument::none},
    Instruction{'}', Argument::none},      Instruction{0x80, Argument::one},
    Instruction{0x81, Argument::none},     Instruction{0x82, Argument::one},
    Instruction{0x83, Argument::two},      Instruction{0x84, Argument::four},
    Instruction{0x85, Argument::none},     Instruction{0x86, Argument::none},
    Instruction{0x87, Argument::none},     Instruction{0x88, Argument::none},
    Instruction{0x89, Argument::none},     Instruction{0x8a, Argument::text1},
    Instruction{0x8b, Argument::text4},    Instruction{0x8c, Argument::text1},
    Instruction{0x8d, Argument::text8},    Instruction{0x8e, Argument::text8},
    Instruction{0x8f, Argument::none},     Instruction{0x90, Argument::none},
    Instruction{0x91, Argument::none},     Instruction{0x92, Argument::none},
    Instruction{0x93, Argument::none},     Instruction{0x94, Argument::none},
    Instruction{0x95, Argument::eight},    Instruction{0x96, Argument::text8},
    Instruction{0x97, Argument::none},     Instruction{0x98, Argument::none}};

Argument argument_of(char code) {
  for (const Instruction& instruction : kInstructions)
    if (instruction.code == static_cast<unsigned char>(code)) return instruction.argument;
  return Argument::none;
}

/// Bytes of a number, or of the length in front of a text.
int width_of(Argument argument) {
  switch (argument) {
    case Argument::one:
    case Argument::text1:
      return 1;
    case Argument::two:
      return 2;
    case Argument::four:
    case Argument::text4:
      return 4;
    case Argument::eight:
    case Argument::text8:
      return 8;
    default:
      return 0;
  }
}

bool is_text(Argument argument) {
  return argument == Argument::text1 || argument == Argument::text4 || argument == Argument::text8;
}

int lines_of(Argument argument) {
  return argument == Argument::line ? 1 : argument == Argument::two_lines ? 2 : 0;
}

/// One part for each instruction.
Parts split_pickle(std::string_view bytes, Random&) {
  Parts parts;
  for (std::size_t at = 0; at < bytes.size();) {
    Part part{std::string(1, bytes[at]), {}};
    const Argument argument = argument_of(bytes[at++]);
    std::size_t size = static_cast<std::size_t>(width_of(argument));
    if (is_text(argument)) {
      const std::uint64_t length = load_number(bytes, at, static_cast<int>(size), false);
      at = std::min(at + size, bytes.size());
      size = length;
    }
    const std::size_t begin = at;
    for (int i = lines_of(argument); i > 0; --i)
      at = std::min(bytes.find('\n', at), bytes.size() - 1) + 1;
    part.body = bytes.substr(begin, lines_of(argument) > 0 ? at - begin : size);
    at = begin + part.body.size();
    parts.push_back(std::move(part));
  }
  return parts;
}

std::string join_pickle(const Parts& parts, Random& random) {
  std::string bytes;
  for (const Part& part : parts) {
    bytes += part.head;
    const Argument argument = part.head.empty() ? Argument::none : argument_of(part.head[0]);
    std::string body = part.body;
    if (is_text(argument))
      bytes += number_bytes(rarely_wrong(body.size(), random), width_of(argument), false);
    else if (lines_of(argument) == 0)
      body.resize(static_cast<std::size_t>(width_of(argument)));
    else if (!body.ends_with('\n'))
      body += '\n';
    bytes += body;
  }
  return bytes;
}

constexpr std::array<std::string_view, 13> kNames{"torch._utils\n_rebuild_tensor_v2\n",
                                                  "torch._utils\n_rebuild_tensor_v3\n",
                                                  "torch._utils\n_rebuild_parameter\n",
                                                  "torch._tensor\n_rebuild_from_type_v2\n",
                                                  "collections\nOrderedDict\n",
                                                  "collections\ndefaultdict\n",
                                                  "torch\nFloatStorage\n",
                                                  "torch\nDoubleStorage\n",
                                                  "torch.storage\nUntypedStorage\n",
                                                  "torch\nSize\n",
                                                  "torch\nfloat8_e4m3fn\n",
                                                  "copy_reg\n_reconstructor\n",
                                                  "os\nsystem\n"};
constexpr std::array<std::string_view, 12> kTexts{
    "storage",         "0",       "1", "cpu", "model", "state_dict", "ema", "neg", "w",
    "module.module.w", "model.w", ""};
constexpr std::array<std::string_view, 5> kLines{"9223372036854775807", "-1", "'text'", "01", "7L"};

Part make_instruction(Random& random) {
  const Instruction& instruction = random.pick(kInstructions);
  // The end of a pickle is rarely what makes it interesting.
  Part part{std::string(1, instruction.code == '.' ? '(' : static_cast<char>(instruction.code)),
            {}};
  if (instruction.argument == Argument::two_lines)
    part.body = random.pick(kNames);
  else if (instruction.argument == Argument::line)
    part.body = random.pick(kLines);
  else if (is_text(instruction.argument))
    part.body = random.pick(kTexts);
  else
    part.body = number_bytes(random.chance(50) ? random.below(30) : edge_number(random),
                             width_of(instruction.argument), false);
  return part;
}

/// Another number, text or name; what has no value becomes another such instruction.
void vary_instruction(Part& part, Random& random) {
  constexpr std::string_view kNumbers = "KMJI\x8a";
  if (part.head.empty()) return;
  const Argument argument = argument_of(part.head[0]);
  if (kNumbers.find(part.head[0]) != std::string_view::npos)
    part = {"\x8a", number_bytes(edge_number(random), 8, false)};
  else if (argument == Argument::two_lines)
    part.body = random.pick(kNames);
  else if (is_text(argument))
    part.body = random.pick(kTexts);
  else if (argument == Argument::none)
    part.head = std::string(1, random.pick(std::string_view("]})N\x88\x89\x85\x86\x87taesu0")));
  else
    mutate_bytes(part.body, random, {});
}

}  // namespace

const Format& pickle_format() {
  static const Format format{split_pickle, join_pickle, make_instruction,
                             nullptr,      {},          vary_instruction};
  return format;
}

}  // namespace ttt::fuzz
