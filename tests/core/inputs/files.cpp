// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/core/inputs/files.h"

#include "core/error.h"

#include <cstdio>
#include <fstream>

namespace ttt::test {

std::string put(const TempDir& folder, std::string_view name, std::string_view content) {
  const std::filesystem::path path = folder / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
  return path.string();
}

std::vector<std::string> names(const InputSet& set, const std::filesystem::path& prefix) {
  std::vector<std::string> out;
  const std::string start = prefix.empty() ? "" : prefix.string() + "/";
  for (const InputItem& item : set.items)
    out.push_back(item.name.starts_with(start) ? item.name.substr(start.size()) : item.name);
  return out;
}

InputSet expand(std::vector<std::string> arguments, std::string split) {
  InputOptions options;
  options.arguments = std::move(arguments);
  options.split = std::move(split);
  return expand_inputs(options);
}

std::string content_of(const InputItem& item) {
  try {
    const std::vector<std::uint8_t> bytes = item.read();
    return {bytes.begin(), bytes.end()};
  } catch (const Error& error) {
    return "error: " + error.message();
  }
}

std::string tar_member(std::string_view name, std::string_view content, char type,
                       std::string_view link, std::string_view prefix) {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  header.replace(100, 7, "0000644");
  char size[12];
  std::snprintf(size, sizeof size, "%011zo", content.size());
  header.replace(124, 11, size);
  header[156] = type;
  header.replace(157, link.size(), link);
  header.replace(257, 8, std::string_view("ustar\00000", 8));
  header.replace(345, prefix.size(), prefix);
  header.replace(148, 8, 8, ' ');
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<std::uint8_t>(c);
  char digits[8];
  std::snprintf(digits, sizeof digits, "%06o", sum);
  header.replace(148, 7, digits, 7);
  header += content;
  header.append((512 - content.size() % 512) % 512, '\0');
  return header;
}

std::string tar_end() {
  return std::string(1024, '\0');
}

}  // namespace ttt::test
