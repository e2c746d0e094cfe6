// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/processes.h"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <cstdlib>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ttt::test {

int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  EXPECT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size), 0);
  ::close(socket);
  return ntohs(address.sin_port);
}

pid_t start_worker(int rank, int size, int port,
                   const std::map<std::string, std::string>& environment) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  const auto set = [](const std::string& key, const std::string& value) {
    ::setenv(key.c_str(), value.c_str(), 1);
  };
  set("RANK", std::to_string(rank));
  set("WORLD_SIZE", std::to_string(size));
  set("MASTER_ADDR", "127.0.0.1");
  set("MASTER_PORT", std::to_string(port));
  for (const auto& [key, value] : environment) set(key, value);
  ::execl("/proc/self/exe", "test", "--gtest_filter=Worker.DISABLED_Run",
          "--gtest_also_run_disabled_tests", "--gtest_brief=1", nullptr);
  ::_exit(127);
}

std::vector<int> wait_for(const std::vector<pid_t>& children) {
  std::vector<int> result;
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    result.push_back(status);
  }
  return result;
}

}  // namespace ttt::test
