// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/view/server.h"

#include "apps/common/text.h"
#include "apps/view/page.h"
#include "apps/view/protocol.h"
#include "core/error.h"
#include "core/log.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <csignal>
#include <httplib.h>
#include <thread>

namespace ttt::cli {
namespace {

using Handled = httplib::Server::HandlerResponse;

constexpr std::size_t kLongestBody = std::size_t{4} << 20;  // 10000 views
constexpr std::size_t kConnections = 32;
constexpr std::size_t kWaitingClients = 24;  // the rest is for what answers at once

/// Only what comes from us is loaded and shown, and no other page can frame or read it.
const httplib::Headers& headers_of_all() {
  static const httplib::Headers headers{
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
       "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
      {"X-Content-Type-Options", "nosniff"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Cache-Control", "no-store"}};
  return headers;
}

void refuse(httplib::Response& response, int status, const std::string& what,
            const std::string& hint = {}) {
  nlohmann::ordered_json body{{"error", what}};
  if (!hint.empty()) body["hint"] = hint;
  response.status = status;
  response.set_content(dump_json(body) + "\n", "application/json");
}

/// What must hold of a POST before its body is read: its length is known and small, and no form or
/// script of another site could have sent it without asking first.
bool check_body(const httplib::Request& request, httplib::Response& response) {
  const std::string length = request.get_header_value("Content-Length");
  const bool number =
      !length.empty() && length.size() < 10 &&
      std::all_of(length.begin(), length.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!number || request.has_header("Transfer-Encoding")) {
    refuse(response, 411, "the request doesn't tell its length");
  } else if (std::stoul(length) > kLongestBody) {
    refuse(response, 413, "the request is too long");
  } else if (request.get_header_value("Content-Type") != "application/json" ||
             request.has_header("Content-Encoding")) {
    refuse(response, 415, "the request is not application/json");
  } else {
    return true;
  }
  return false;
}

Handled check_request(const httplib::Request& request, httplib::Response& response,
                      const std::vector<std::string>& allowed) {
  const std::string host = request.get_header_value("Host");
  if (!host_allowed(host, allowed)) {
    refuse(response, 403, "this name is not known here: " + utf8_text(printable(host, 100)),
           "start `ttt view` with --allow-host NAME");
    return Handled::Handled;
  }
  const std::string origin = request.get_header_value("Origin");
  if (request.has_header("Origin") && origin != "http://" + host && origin != "https://" + host) {
    refuse(response, 403, "the request comes from another site");
    return Handled::Handled;
  }
  if (request.method != "GET" && request.method != "HEAD" && request.method != "POST") {
    refuse(response, 405, "there are GET, HEAD and POST");
    return Handled::Handled;
  }
  const bool fine = request.method != "POST" || check_body(request, response);
  return fine ? Handled::Unhandled : Handled::Handled;
}

/// Answers with what `answer` does, or with its error.
void guard(httplib::Response& response, const std::function<void()>& answer) {
  try {
    answer();
  } catch (const Error& error) {
    const int status = error.kind() == ErrorKind::usage         ? 400
                       : error.kind() == ErrorKind::interrupted ? 503
                                                                : 500;
    if (status == 500) log_warning("{}", error.what());
    refuse(response, status, utf8_text(error.message()), utf8_text(error.hint()));
  } catch (const std::exception& error) {
    log_warning("a request failed: {}", printable(error.what()));
    refuse(response, 500, "internal error", "the terminal of `ttt view` tells more");
  }
}

}  // namespace

struct ViewServer::Http {
  httplib::Server server;
  std::thread thread;
};

ViewServer::ViewServer(const Settings& settings)
    : settings_(settings), queue_(kWaitingClients), http_(std::make_unique<Http>()) {
  httplib::Server& server = http_->server;
  // The library's own choice lets two programs share a port without knowing of each other.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.new_task_queue = [] { return new httplib::ThreadPool(kConnections); };
  // A kept connection would keep one of the threads.
  server.set_keep_alive_max_count(1);
  server.set_tcp_nodelay(true);
  server.set_payload_max_length(kLongestBody);
  const std::string& host = settings_.host;
  if (settings_.port == 0)
    port_ = server.bind_to_any_port(host);
  else if (server.bind_to_port(host, settings_.port))
    port_ = settings_.port;
  TTT_CHECK(port_ > 0, usage,
            fmt::format("can't listen on {} port {}: the port is taken or forbidden, or this "
                        "machine doesn't have the address",
                        printable(host), settings_.port),
            "--host, --port", "use --port 0 for a free port, or another --host");
}

ViewServer::~ViewServer() {
  stop();
}

std::string ViewServer::url() const {
  const std::string& host = settings_.host;
  if (host == "0.0.0.0") return fmt::format("http://127.0.0.1:{}/", port_);
  if (host == "::") return fmt::format("http://[::1]:{}/", port_);
  const bool v6 = host.find(':') != std::string::npos;
  return fmt::format("http://{}:{}/", v6 ? "[" + host + "]" : host, port_);
}

void ViewServer::start(ViewService given) {
  httplib::Server& server = http_->server;
  const auto service = std::make_shared<const ViewService>(std::move(given));
  std::vector<std::string> allowed = settings_.allowed_hosts;
  allowed.push_back(settings_.host);
  server.set_default_headers(headers_of_all());
  server.set_pre_routing_handler(
      [allowed](const httplib::Request& request, httplib::Response& response) {
        return check_request(request, response, allowed);
      });
  for (const PageFile& file : page_files())
    server.Get(std::string(file.path), [&file](const auto&, httplib::Response& response) {
      response.set_content(file.content.data(), file.content.size(), std::string(file.type));
    });
  server.Get("/favicon.ico",
             [](const auto&, httplib::Response& response) { response.status = 204; });
  server.Get("/api/scene", [service](const auto&, httplib::Response& response) {
    response.set_content(service->scene, "application/json");
  });
  server.Post("/api/cameras", [service](const auto& request, httplib::Response& response) {
    guard(response, [&] {
      response.set_content(service->cameras(parse_views(request.body)), "application/json");
    });
  });
  server.Post("/api/frame", [service, this](const auto& request, httplib::Response& response) {
    guard(response, [&] {
      const FrameRequest frame = parse_frame_request(request.body);
      ViewedPicture picture;
      const auto outcome = queue_.request(frame.client, frame.sequence, [&] {
        picture = service->render(frame.view, frame.draft);
      });
      response.status = 204;
      if (outcome == nvs::LatestQueue::Outcome::replaced) return;
      response.status = 200;
      response.set_header("X-Render-Milliseconds", fmt::format("{:.2f}", picture.milliseconds));
      response.set_header("X-Picture-Size", fmt::format("{}x{}", picture.width, picture.height));
      response.set_content(picture.bytes, picture.type);
    });
  });
  // Signals are for the main thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  http_->thread = std::thread([&server] { server.listen_after_bind(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  while (!server.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void ViewServer::stop() {
  queue_.close();
  if (!http_->thread.joinable()) return;
  http_->server.stop();
  http_->thread.join();
}

}  // namespace ttt::cli
