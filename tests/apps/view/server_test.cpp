// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/view/server.h"

#include "apps/view/protocol.h"
#include "core/error.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <httplib.h>
#include <thread>

namespace ttt::cli {
namespace {

using Json = nlohmann::json;

/// A server whose pictures are texts that tell what was asked for, and its rendering thread.
class Served {
 public:
  Served() : server_({.allowed_hosts = {"box.example"}}) {
    server_.start({R"({"scene": "toy"})",
                   [this](const nvs::OrbitView& view, bool draft) { return render(view, draft); },
                   [](std::span<const nvs::OrbitView> views) {
                     return std::to_string(views.size()) + " cameras";
                   }});
    thread_ = std::thread([this] {
      while (!end_) server_.serve(std::chrono::milliseconds(20));
    });
  }
  ~Served() {
    end_ = true;
    open_gate();
    thread_.join();
    server_.stop();
  }

  httplib::Client client() const {
    httplib::Client client("127.0.0.1", server_.port());
    client.set_read_timeout(60, 0);
    return client;
  }
  ViewServer& server() { return server_; }
  /// Pictures are held back from now on, and those that have begun are counted.
  void close_gate() { open_ = false; }
  void open_gate() { open_ = true; }
  int begun() const { return begun_; }

  static std::string body(double yaw, int sequence = 1, const char* client = "page",
                          bool draft = false) {
    nvs::OrbitView view;
    view.yaw = yaw;
    return nlohmann::ordered_json{
        {"client", client}, {"sequence", sequence}, {"draft", draft}, {"view", view_json(view)}}
        .dump();
  }
  httplib::Result frame(const std::string& body) const {
    return client().Post("/api/frame", body, "application/json");
  }

 private:
  ViewedPicture render(const nvs::OrbitView& view, bool draft) {
    ++begun_;
    while (!open_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (view.yaw == 13) throw Error(ErrorKind::memory, "no memory");
    if (view.yaw == 14) throw std::runtime_error("secret");
    return {"yaw " + std::to_string(static_cast<int>(view.yaw)), draft ? "image/jpeg" : "image/png",
            64, 48, 12.5};
  }

  std::atomic<bool> open_{true}, end_{false};
  std::atomic<int> begun_{0};
  ViewServer server_;
  std::thread thread_;
};

TEST(ViewServer, ServesThePageWithAPolicy) {
  Served served;
  for (const auto& [path, type] :
       std::map<std::string, std::string>{{"/", "text/html; charset=utf-8"},
                                          {"/view.css", "text/css; charset=utf-8"},
                                          {"/view.js", "text/javascript; charset=utf-8"},
                                          {"/api/scene", "application/json"}}) {
    const auto result = served.client().Get(path.c_str());
    ASSERT_TRUE(result) << path;
    EXPECT_EQ(result->status, 200) << path;
    EXPECT_EQ(result->get_header_value("Content-Type"), type);
    EXPECT_NE(result->get_header_value("Content-Security-Policy").find("default-src 'none'"),
              std::string::npos);
    EXPECT_EQ(result->get_header_value("X-Content-Type-Options"), "nosniff");
    EXPECT_EQ(result->get_header_value("Access-Control-Allow-Origin"), "");
  }
  EXPECT_EQ(served.client().Get("/api/scene")->body, R"({"scene": "toy"})");
  // The page loads nothing from elsewhere, and its policy allows no script inside of it.
  for (const char* path : {"/", "/view.css", "/view.js"}) {
    const std::string text = served.client().Get(path)->body;
    EXPECT_EQ(text.find("http:"), std::string::npos) << path;
    EXPECT_EQ(text.find("https:"), std::string::npos) << path;
    EXPECT_EQ(text.find("style=\""), std::string::npos) << path;
    EXPECT_EQ(text.find("onclick"), std::string::npos) << path;
  }
}

TEST(ViewServer, KnowsNoOtherPaths) {
  Served served;
  for (const char* path :
       {"/view", "/../etc/passwd", "/..%2f..%2fetc/passwd", "//etc/passwd", "/api/",
        "/page/view.js", "/%2e%2e/%2e%2e/etc/passwd", "/view.js/", "/api/frame"}) {
    const auto result = served.client().Get(path);
    ASSERT_TRUE(result) << path;
    EXPECT_EQ(result->status, 404) << path;
  }
  EXPECT_EQ(served.client().Post("/", "{}", "application/json")->status, 404);
}

TEST(ViewServer, RendersWhatIsAskedFor) {
  Served served;
  const auto full = served.frame(Served::body(7));
  ASSERT_TRUE(full);
  EXPECT_EQ(full->status, 200);
  EXPECT_EQ(full->body, "yaw 7");
  EXPECT_EQ(full->get_header_value("Content-Type"), "image/png");
  EXPECT_EQ(full->get_header_value("X-Render-Milliseconds"), "12.50");
  EXPECT_EQ(full->get_header_value("X-Picture-Size"), "64x48");
  const auto draft = served.frame(Served::body(8, 2, "page", true));
  EXPECT_EQ(draft->get_header_value("Content-Type"), "image/jpeg");
  EXPECT_EQ(served.server().counts().done, 2);
}

TEST(ViewServer, TheLatestRequestOfAClientWins) {
  Served served;
  served.close_gate();
  const auto ask = [&](double yaw, int sequence, const char* client) {
    return std::async(std::launch::async, [=, &served] {
      const auto result = served.frame(Served::body(yaw, sequence, client));
      return result ? std::to_string(result->status) + result->body : "none";
    });
  };
  auto running = ask(1, 1, "one");
  while (served.begun() == 0) std::this_thread::yield();
  auto early = ask(2, 2, "one");
  while (served.server().counts().waiting < 1) std::this_thread::yield();
  auto other = ask(5, 1, "two");
  while (served.server().counts().waiting < 2) std::this_thread::yield();
  auto late = ask(3, 3, "one");
  EXPECT_EQ(early.get(), "204");
  served.open_gate();
  EXPECT_EQ(running.get(), "200yaw 1");
  EXPECT_EQ(late.get(), "200yaw 3");
  EXPECT_EQ(other.get(), "200yaw 5");
  EXPECT_EQ(served.begun(), 3);
}

TEST(ViewServer, WritesCameraFiles) {
  Served served;
  const std::string view = view_json({}).dump();
  const auto result = served.client().Post(
      "/api/cameras", R"({"views":[)" + view + "," + view + "]}", "application/json");
  EXPECT_EQ(result->status, 200);
  EXPECT_EQ(result->body, "2 cameras");
  EXPECT_EQ(served.client().Post("/api/cameras", R"({"views":[]})", "application/json")->status,
            400);
}

TEST(ViewServer, RefusesRequestsThatAreNone) {
  Served served;
  const auto status = [&](const std::string& body) { return served.frame(body)->status; };
  Json good = Json::parse(Served::body(1));
  EXPECT_EQ(status(good.dump()), 200);
  for (const char* body : {"", "{", "[]", "null", "{}", "\xff\xfe", "[[[[[[[[[[[[[[[[[[[["})
    EXPECT_EQ(status(body), 400) << body;
  const std::vector<std::pair<const char*, Json>> wrong{
      {"/client", ""},         {"/client", "a b"},      {"/client", std::string(65, 'a')},
      {"/client", 7},          {"/sequence", -1},       {"/sequence", 1.5},
      {"/sequence", 1e300},    {"/draft", 1},           {"/view", Json::array()},
      {"/view/pivot", {1, 2}}, {"/view/pivot", "here"}, {"/view/yaw", nullptr},
      {"/view/yaw", "1"},      {"/view/shift/0", {}},   {"/view/pivot", {1, 2, 3, 4}}};
  for (const auto& [where, value] : wrong) {
    Json changed = good;
    changed[Json::json_pointer(where)] = value;
    EXPECT_EQ(status(changed.dump()), 400) << where << " " << value;
    EXPECT_TRUE(Json::parse(served.frame(changed.dump())->body).contains("error"));
  }
  for (const auto& [key, value] : good.items()) {
    Json changed = good;
    changed.erase(key);
    EXPECT_EQ(status(changed.dump()), 400) << key;
  }
  // Deep enough to overflow the stack of a parser that doesn't look.
  EXPECT_EQ(status(R"({"view":)" + std::string(1000000, '[')), 400);
  EXPECT_EQ(status(R"({"view":)" + std::string(900000, '[') + std::string(900000, ']') + "}"), 400);
}

TEST(ViewServer, TellsOfErrorsWithoutTheirInside) {
  Served served;
  const auto known = served.frame(Served::body(13));
  EXPECT_EQ(known->status, 500);
  EXPECT_NE(known->body.find("no memory"), std::string::npos);
  const auto unknown = served.frame(Served::body(14));
  EXPECT_EQ(unknown->status, 500);
  EXPECT_EQ(unknown->body.find("secret"), std::string::npos);
  EXPECT_EQ(served.frame(Served::body(1))->status, 200);
}

TEST(ViewServer, LimitsBodies) {
  Served served;
  const std::string large(std::size_t{5} << 20, ' ');
  // The answer may get lost, since the body isn't read.
  const auto result = served.frame(large);
  EXPECT_TRUE(!result || result->status == 413);
  // Without a length in front.
  std::size_t sent = 0;
  const auto chunked = served.client().Post(
      "/api/frame",
      [&](std::size_t, httplib::DataSink& sink) {
        if (sent > large.size()) return sink.done(), true;
        sent += 65536;
        return sink.write(large.data(), 65536);
      },
      "application/json");
  EXPECT_TRUE(!chunked || chunked->status == 411);
  const auto packed = served.client().Post("/api/frame", {{"Content-Encoding", "gzip"}},
                                           "\x1f\x8b something", "application/json");
  EXPECT_TRUE(!packed || packed->status == 415);
  EXPECT_EQ(served.frame(Served::body(1))->status, 200);
}

TEST(ViewServer, NeedsAHostThatIsOurs) {
  Served served;
  const auto status = [&](const std::string& host) {
    return served.client().Get("/api/scene", {{"Host", host}})->status;
  };
  for (const char* host : {"127.0.0.1", "localhost", "LOCALHOST:80", "[::1]:8080", "192.168.1.7:9",
                           "box.example", "Box.Example:8080"})
    EXPECT_EQ(status(host), 200) << host;
  // A name that someone else's server of names points at us.
  for (const char* host : {"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "",
                           "[evil.example]", "[::1", "[::1]evil", "box.example.evil", "evil@box"})
    EXPECT_EQ(status(host), 403) << host;
}

TEST(ViewServer, NeedsRequestsOfItsOwnPage) {
  Served served;
  const std::string own = "http://127.0.0.1:" + std::to_string(served.server().port());
  const auto status = [&](const std::string& origin, const char* type) {
    return served.client().Post("/api/frame", {{"Origin", origin}}, Served::body(1), type)->status;
  };
  EXPECT_EQ(status(own, "application/json"), 200);
  EXPECT_EQ(status("http://evil.example", "application/json"), 403);
  EXPECT_EQ(status("http://127.0.0.1:1", "application/json"), 403);
  EXPECT_EQ(status("null", "application/json"), 403);
  // What a form could send without asking.
  EXPECT_EQ(served.client().Post("/api/frame", Served::body(1), "text/plain")->status, 415);
  EXPECT_EQ(served.client().Put("/api/frame", Served::body(1), "application/json")->status, 405);
  EXPECT_EQ(served.client().Delete("/")->status, 405);
  EXPECT_EQ(served.client().Options("/api/frame")->status, 405);
}

TEST(ViewServer, APortBelongsToOneServer) {
  ViewServer first({});
  EXPECT_GT(first.port(), 0);
  EXPECT_EQ(first.url(), "http://127.0.0.1:" + std::to_string(first.port()) + "/");
  EXPECT_THROW(ViewServer({.port = first.port()}), Error);
  EXPECT_THROW(ViewServer({.host = "203.0.113.77"}), Error);
  EXPECT_THROW(ViewServer({.host = "no such host"}), Error);
}

TEST(ViewServer, StoppingEndsWaitingRequests) {
  auto served = std::make_unique<Served>();
  served->close_gate();
  std::vector<std::thread> clients;
  for (int i = 0; i < 5; ++i)
    clients.emplace_back([&, i] {
      const auto result = served->frame(Served::body(i, 1, ("c" + std::to_string(i)).c_str()));
      EXPECT_TRUE(!result || result->status == 200 || result->status == 503);
    });
  while (served->server().counts().waiting < 4) std::this_thread::yield();
  std::thread opener([&] { served->open_gate(); });
  served->server().stop();
  opener.join();
  for (std::thread& client : clients) client.join();
}

}  // namespace
}  // namespace ttt::cli
