// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/common/result_format.h"

namespace ttt::cli {

/// The renderer of a format; the two that differ between subcommands are given.
std::unique_ptr<ResultRenderer> make_renderer(ResultFormat format, std::vector<CsvColumn> columns,
                                              std::unique_ptr<ResultRenderer> table);

/// The CSV column of a field: texts as they are, other values as in JSON; empty for null and where
/// a row lacks it.
CsvColumn field_column(const std::string& name);

}  // namespace ttt::cli
