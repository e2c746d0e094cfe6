// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/view/browser.h"

#include <array>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace ttt::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{60};

/// Moves both ends of what the browser expects as descriptors 3 and 4 there, and starts it.
[[noreturn]] void become_browser(int in, int out, const std::string& profile) {
  // Out of the way first: a descriptor may already be the other's number.
  const int safe_in = ::fcntl(in, F_DUPFD_CLOEXEC, 10);
  const int safe_out = ::fcntl(out, F_DUPFD_CLOEXEC, 10);
  ::dup2(safe_in, 3);
  ::dup2(safe_out, 4);
  const int nowhere = ::open("/dev/null", O_RDWR);
  for (const int descriptor : {0, 1, 2}) ::dup2(nowhere, descriptor);
  ::setpgid(0, 0);
  const std::string path = Browser::find(), data = "--user-data-dir=" + profile;
  ::execl(path.c_str(), path.c_str(), "--headless", "--no-sandbox", "--disable-gpu",
          "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
          "--remote-debugging-pipe", "--window-size=1100,700", data.c_str(), "about:blank",
          static_cast<char*>(nullptr));
  ::_exit(127);
}

}  // namespace

std::string Browser::find() {
  for (const char* path : {"/usr/bin/chromium", "/usr/bin/chromium-browser"})
    if (::access(path, X_OK) == 0) return path;
  return {};
}

Browser::Browser(const std::string& url) {
  start();
  const Json target = send("Target.createTarget", {{"url", "about:blank"}});
  send("Browser.setDownloadBehavior",
       {{"behavior", "allow"}, {"downloadPath", downloads_.path().string()}});
  session_ = send("Target.attachToTarget",
                  {{"targetId", target["targetId"]}, {"flatten", true}})["sessionId"];
  command("Runtime.enable");
  command("Log.enable");
  command("Page.enable");
  command("Page.navigate", {{"url", url}});
}

void Browser::start() {
  std::array<int, 2> to{}, from{};
  if (::pipe2(to.data(), O_CLOEXEC) != 0 || ::pipe2(from.data(), O_CLOEXEC) != 0)
    throw std::runtime_error("no pipe");
  child_ = ::fork();
  if (child_ == 0) become_browser(to[0], from[1], profile_.path().string());
  ::close(to[0]);
  ::close(from[1]);
  to_ = to[1];
  from_ = from[0];
}

Browser::~Browser() {
  ::close(to_);
  ::close(from_);
  // Its helpers too: they are of its process group.
  ::kill(-child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
}

Browser::Json Browser::send(const std::string& method, const Json& parameters) {
  Json message{{"id", ++last_id_}, {"method", method}, {"params", parameters}};
  if (!session_.empty()) message["sessionId"] = session_;
  std::string text = message.dump();
  text.push_back('\0');
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(to_, text.data() + done, text.size() - done);
    if (count <= 0) throw std::runtime_error("the browser went away");
    done += static_cast<std::size_t>(count);
  }
  for (;;) {
    const Json answer = receive();
    if (answer.value("id", 0) != last_id_) {
      note(answer);
      continue;
    }
    if (answer.contains("error")) throw std::runtime_error(method + ": " + answer.dump());
    return answer["result"];
  }
}

Browser::Json Browser::receive() {
  const Clock::time_point end = Clock::now() + kPatience;
  for (;;) {
    const std::size_t zero = buffer_.find('\0');
    if (zero != std::string::npos) {
      const Json message = Json::parse(buffer_.substr(0, zero));
      buffer_.erase(0, zero + 1);
      return message;
    }
    pollfd ready{from_, POLLIN, 0};
    std::array<char, 65536> block{};
    if (::poll(&ready, 1, 1000) > 0) {
      const ssize_t count = ::read(from_, block.data(), block.size());
      if (count <= 0) throw std::runtime_error("the browser went away");
      buffer_.append(block.data(), static_cast<std::size_t>(count));
    }
    if (Clock::now() > end) throw std::runtime_error("the browser doesn't answer");
  }
}

void Browser::note(const Json& event) {
  const std::string method = event.value("method", "");
  if (method == "Runtime.exceptionThrown" ||
      (method == "Log.entryAdded" && event["params"]["entry"]["level"] == "error"))
    errors_.push_back(event["params"].dump());
}

Browser::Json Browser::command(const std::string& method, const Json& parameters) {
  return send(method, parameters);
}

Browser::Json Browser::evaluate(const std::string& expression) {
  const Json result =
      command("Runtime.evaluate",
              {{"expression", expression}, {"awaitPromise", true}, {"returnByValue", true}});
  if (result.contains("exceptionDetails")) throw std::runtime_error(result.dump());
  return result["result"].value("value", Json());
}

bool Browser::wait_until(const std::string& expression) {
  const Clock::time_point end = Clock::now() + kPatience;
  while (Clock::now() < end) {
    if (evaluate("Boolean(" + expression + ")") == true) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

void Browser::mouse(const std::string& type, double x, double y, const Json& more) {
  Json parameters{{"type", type}, {"x", x}, {"y", y}};
  parameters.update(more);
  command("Input.dispatchMouseEvent", parameters);
}

void Browser::touch(const std::string& type, const std::vector<std::pair<double, double>>& points) {
  Json list = Json::array();
  for (std::size_t i = 0; i < points.size(); ++i)
    list.push_back({{"x", points[i].first}, {"y", points[i].second}, {"id", i}});
  command("Input.dispatchTouchEvent", {{"type", type}, {"touchPoints", list}});
}

void Browser::key(const std::string& name) {
  for (const char* type : {"keyDown", "keyUp"})
    command("Input.dispatchKeyEvent", {{"type", type}, {"key", name}});
}

}  // namespace ttt::test
