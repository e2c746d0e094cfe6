// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/view/view_session.h"

#include "tests/apps/render_bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <httplib.h>

namespace ttt::test {
namespace {

ViewSession::Arguments call_of(const ViewSession::Arguments& arguments) {
  ViewSession::Arguments call{ttt_path(), "view"};
  const auto all = ViewSession::complete(arguments);
  call.insert(call.end(), all.begin(), all.end());
  return call;
}

httplib::Client client_of(const nlohmann::json& row) {
  httplib::Client client("127.0.0.1", row["port"].get<int>());
  client.set_read_timeout(60, 0);
  return client;
}

}  // namespace

ViewSession::Arguments ViewSession::complete(const Arguments& arguments) {
  Arguments all = arguments;
  const auto has = [&](const char* flag) {
    return std::find(all.begin(), all.end(), flag) != all.end();
  };
  const auto standard = [&](const char* flag, const char* value) {
    if (!has(flag)) all.insert(all.end(), {flag, value});
  };
  const bool positional = !all.empty() && !all[0].starts_with("-");
  const bool state = has("--state") || (positional && all[0].ends_with(".safetensors"));
  if (!positional && !state && !has("-i")) all.insert(all.begin(), "ring");
  if (!state && !has("--selection") && !has("--views") && !has("--select"))
    standard("--input-views", "0,2,4,6");
  if (!has("--weights") && !has("--random-weights")) standard("-w", "tiny.safetensors");
  standard("--size", "32x24");
  standard("--port", "0");
  standard("--format", "jsonl");
  return all;
}

ViewSession::ViewSession(const Arguments& arguments)
    : program_({.arguments = call_of(arguments), .directory = render_bench().path()}) {
  if (program_.wait_for_lines(1))
    row_ = nlohmann::json::parse(program_.out(), nullptr, /*allow_exceptions=*/false);
  EXPECT_TRUE(row_.is_object()) << program_.out() << program_.wait().err;
}

nlohmann::json ViewSession::scene() const {
  const auto result = client_of(row_).Get("/api/scene");
  EXPECT_TRUE(result && result->status == 200);
  return result ? nlohmann::json::parse(result->body) : nlohmann::json();
}

std::string ViewSession::picture(nlohmann::json view, bool draft) const {
  if (view.is_null()) view = scene()["start"];
  return post("/api/frame",
              {{"client", "test"}, {"sequence", 1}, {"draft", draft}, {"view", view}});
}

std::string ViewSession::post(const std::string& path, const nlohmann::json& body) const {
  const auto result = client_of(row_).Post(path.c_str(), body.dump(), "application/json");
  EXPECT_TRUE(result && result->status == 200) << (result ? result->body : "no answer");
  return result ? result->body : "";
}

int ViewSession::status(const std::string& path,
                        const std::map<std::string, std::string>& headers) const {
  const auto result =
      client_of(row_).Get(path.c_str(), httplib::Headers(headers.begin(), headers.end()));
  return result ? result->status : 0;
}

nlohmann::json ViewSession::end() {
  program_.signal(SIGINT);
  const ProgramResult result = program_.wait();
  EXPECT_EQ(result.code, 130) << result.err;
  const auto rows = result.json_lines();
  return rows.empty() ? nlohmann::json() : rows.back();
}

}  // namespace ttt::test
