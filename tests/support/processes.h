// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

namespace ttt::test {

/// A TCP port that nobody listens on.
int free_port();

/// Starts this program again as process `rank` of `size` of a parallel run, which runs the test
/// Worker.DISABLED_Run with these further variables in its environment.
pid_t start_worker(int rank, int size, int port,
                   const std::map<std::string, std::string>& environment);

/// Waits for all of them; their exit statuses.
std::vector<int> wait_for(const std::vector<pid_t>& children);

}  // namespace ttt::test
