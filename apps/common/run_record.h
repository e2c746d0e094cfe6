// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/common/option_table.h"

#include <nlohmann/json.hpp>

#include <string>

namespace ttt::cli {

/// "<output>.run.json".
std::string run_record_path(const std::string& output);

/// Version, commit, libraries, and the host's processor, cores and system: what explains speed and
/// small differences in numbers; no names of people or machines.
nlohmann::ordered_json describe_build();

/// The part of a run record that any subcommand fills alike: program, version and commit, command,
/// options with their origins, start time, host. The subcommand adds "weights", "device", "seed",
/// "counts" and the like, and "status": "running", "complete" or "interrupted".
nlohmann::ordered_json begin_run_record(const OptionTable& table);

/// Adds "finished" and "status", and writes the record. Throws Error(output).
void finish_run_record(nlohmann::ordered_json& record, const std::string& output,
                       const std::string& status);

/// Reads a record back. Throws Error(usage) when it is missing or is not one.
nlohmann::ordered_json read_run_record(const std::string& output);

/// Throws Error(usage) that names the first entry of "identity" (what must not change when a run is
/// resumed) in which the two records differ.
void check_same_run(const nlohmann::ordered_json& earlier, const nlohmann::ordered_json& now,
                    const std::string& output);

}  // namespace ttt::cli
