// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/run_program.h"
#include "tests/support/paths.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace ttt::test {
namespace {

namespace fs = std::filesystem;

struct Block {
  int line = 0;
  std::string commands;
};

/// The blocks that start with "```sh runnable".
std::vector<Block> runnable_blocks(const std::string& text) {
  std::vector<Block> blocks;
  std::istringstream lines(text);
  bool inside = false;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (inside && line.starts_with("```")) {
      inside = false;
    } else if (inside) {
      blocks.back().commands += line + "\n";
    } else if (line.starts_with("```sh runnable")) {
      inside = true;
      blocks.push_back({number, ""});
    }
  }
  return blocks;
}

TEST(ReadmeBlocks, OnlyMarkedOnesAreTaken) {
  const auto blocks = runnable_blocks(
      "a\n```sh\nno\n```\n```sh runnable\nls\npwd\n```\n```text\nno\n```\n```sh "
      "runnable\nid\n```\n");
  ASSERT_EQ(blocks.size(), 2U);
  EXPECT_EQ(blocks[0].commands, "ls\npwd\n");
  EXPECT_EQ(blocks[0].line, 5);
  EXPECT_EQ(blocks[1].commands, "id\n");
}

/// The commands of README.md and docs/ run as written, in a folder that looks like the source tree,
/// with our program as `ttt`.
TEST(Readme, CommandsRun) {
  std::vector<fs::path> files{source_dir() / "README.md"};
  if (fs::exists(source_dir() / "docs"))
    for (const auto& entry : fs::recursive_directory_iterator(source_dir() / "docs"))
      if (entry.path().extension() == ".md") files.push_back(entry.path());
  int count = 0;
  for (const fs::path& file : files) {
    for (const Block& block : runnable_blocks(read_text_file(file))) {
      ++count;
      const TempDir folder;
      for (const auto& entry : fs::directory_iterator(source_dir()))
        if (entry.path().filename() != "build" && entry.path().filename() != ".git")
          fs::create_symlink(entry.path(), folder / entry.path().filename().string());
      const std::string path =
          fs::path(ttt_path()).parent_path().string() + ":" + std::getenv("PATH");
      const ProgramResult result =
          run_program({.arguments = {"/bin/bash", "-euo", "pipefail", "-c", block.commands},
                       .environment = {{"PATH", path}},
                       .directory = folder.path()});
      EXPECT_EQ(result.code, 0) << file << ":" << block.line << "\n"
                                << block.commands << result.out << result.err;
    }
  }
  if (count == 0) GTEST_SKIP() << "no block of README.md or docs/ is marked ```sh runnable";
}

}  // namespace
}  // namespace ttt::test
