// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
// docs/op-accuracy.md must have a row for each op, backend and type. Its numbers are those of one
// machine and are not compared.
#include "kernels/selftest.h"
#include "tests/support/paths.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

namespace ttt::ops {
namespace {

/// "op | backend | type" of the table's rows.
std::set<std::string> rows_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::set<std::string> rows;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| `")) continue;
    std::istringstream cells(line.substr(2));
    std::string op, backend, type;
    std::getline(cells, op, '|');
    std::getline(cells, backend, '|');
    std::getline(cells, type, '|');
    rows.insert(op + "|" + backend + "|" + type);
  }
  return rows;
}

std::string type_word(at::ScalarType type) {
  return type == at::kFloat ? "fp32" : type == at::kBFloat16 ? "bf16" : "fp16";
}

TEST(OpAccuracyTable, HasARowForEachOpBackendAndType) {
  const std::set<std::string> rows = rows_of(test::source_dir() / "docs/op-accuracy.md");
  std::set<std::string> expected;
  bool has_cuda = false;
  const auto expect = [&](const Op& op, const std::string& backend, at::ScalarType type) {
    expected.insert("`" + std::string(op.name) + "` | " + backend + " | " + type_word(type) + " ");
  };
  for (const Op& op : registry()) {
    for (const at::ScalarType type : checked_types(op, Backend::reference))
      expect(op, "reference", type);
    for (const at::ScalarType type : checked_types(op, Backend::cpu))
      for (const CpuIsa isa : kCpuIsas)
        expect(op, to_string(Variant{.backend = Backend::cpu, .isa = isa}), type);
    for (const at::ScalarType type : checked_types(op, Backend::cuda)) expect(op, "cuda", type);
    has_cuda = has_cuda || !op.support().cuda.empty();
  }
  for (const std::string& row : expected)
    EXPECT_TRUE(rows.contains(row)) << "no row " << row << ": run scripts/op_accuracy.sh";
  for (const std::string& row : rows)
    EXPECT_TRUE(expected.contains(row) || (!has_cuda && row.find("| cuda ") != std::string::npos))
        << "stale row " << row << ": run scripts/op_accuracy.sh";
}

}  // namespace
}  // namespace ttt::ops
