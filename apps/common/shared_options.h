// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/common/option_table.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Options that mean the same in several subcommands, worded once. Each adds its row to the table's
/// current group; what it fills must outlive the table.
namespace ttt::cli {

/// --allow-missing, --allow-unexpected.
void add_allowed_tensors(OptionTable& table, std::vector<std::string>& missing,
                         std::vector<std::string>& unexpected);
/// --device.
void add_device(OptionTable& table, std::string& device);
/// --backend of the model's operations.
void add_backend(OptionTable& table, std::string& backend);
/// --tf32.
void add_tf32(OptionTable& table, bool& tf32);
/// --cuda-graph of inference.
void add_cuda_graph(OptionTable& table, std::string& cuda_graph);
/// --threads of the model.
void add_threads(OptionTable& table, std::optional<std::int64_t>& threads);
/// --format, --output, --overwrite of results that are rows.
void add_result_file(OptionTable& table, std::string& format, std::string& output, bool& overwrite);

/// Applies --threads and --tf32 to LibTorch.
void configure_torch(const std::optional<std::int64_t>& threads, bool tf32);

}  // namespace ttt::cli
