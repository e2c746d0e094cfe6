// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/view/protocol.h"

#include "core/error.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <arpa/inet.h>

namespace ttt::cli {
namespace {

using Json = nlohmann::ordered_json;

Json parse_object(const std::string& body) {
  // Nothing that the page sends is deeper; the parser itself has no limit.
  constexpr int kDeepest = 8;
  const auto shallow = [](int depth, Json::parse_event_t, Json&) {
    TTT_CHECK(depth <= kDeepest, usage, "the request is nested too deeply", "request");
    return true;
  };
  Json json = Json::parse(body, shallow, /*allow_exceptions=*/false);
  TTT_CHECK(json.is_object(), usage, "the request is not a JSON object", "request");
  return json;
}

const Json& field(const Json& object, const char* key) {
  const auto found = object.find(key);
  TTT_CHECK(found != object.end(), usage, fmt::format("{} is missing", key), "request");
  return *found;
}

double number(const Json& value, const char* key) {
  TTT_CHECK(value.is_number(), usage, fmt::format("{} is not a number", key), "request");
  return value.get<double>();
}

template <std::size_t count>
std::array<double, count> numbers(const Json& object, const char* key) {
  const Json& list = field(object, key);
  TTT_CHECK(list.is_array() && list.size() == count, usage,
            fmt::format("{} is not a list of {} numbers", key, count), "request");
  std::array<double, count> values{};
  for (std::size_t i = 0; i < count; ++i) values[i] = number(list[i], key);
  return values;
}

nvs::OrbitView parse_view(const Json& object) {
  TTT_CHECK(object.is_object(), usage, "a view is not an object", "request");
  const auto get = [&](const char* key) { return number(field(object, key), key); };
  const auto pivot = numbers<3>(object, "pivot");
  const auto shift = numbers<2>(object, "shift");
  return {
      {pivot[0], pivot[1], pivot[2]}, get("yaw"),     get("pitch"), get("roll"), get("distance"),
      get("field_of_view"),           get("stretch"), shift[0],     shift[1]};
}

bool is_address(const std::string& host) {
  in6_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  return result;
}

}  // namespace

Json view_json(const nvs::OrbitView& view) {
  return {{"pivot", {view.pivot.x, view.pivot.y, view.pivot.z}},
          {"yaw", view.yaw},
          {"pitch", view.pitch},
          {"roll", view.roll},
          {"distance", view.distance},
          {"field_of_view", view.field_of_view},
          {"stretch", view.stretch},
          {"shift", {view.shift_x, view.shift_y}}};
}

FrameRequest parse_frame_request(const std::string& body) {
  const Json json = parse_object(body);
  FrameRequest request;
  const Json& client = field(json, "client");
  TTT_CHECK(client.is_string(), usage, "client is not a text", "request");
  request.client = client.get<std::string>();
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  };
  TTT_CHECK(!request.client.empty() && request.client.size() <= 64 &&
                std::all_of(request.client.begin(), request.client.end(), plain),
            usage, "client is not made of 1 to 64 letters, digits and dashes", "request");
  const Json& sequence = field(json, "sequence");
  TTT_CHECK(sequence.is_number_unsigned() && sequence.get<std::uint64_t>() < (1ULL << 53), usage,
            "sequence is not a whole number", "request");
  request.sequence = sequence.get<std::int64_t>();
  const Json& draft = field(json, "draft");
  TTT_CHECK(draft.is_boolean(), usage, "draft is not true or false", "request");
  request.draft = draft.get<bool>();
  request.view = parse_view(field(json, "view"));
  return request;
}

std::vector<nvs::OrbitView> parse_views(const std::string& body) {
  const Json json = parse_object(body);
  const Json& list = field(json, "views");
  TTT_CHECK(list.is_array() && !list.empty() && list.size() <= 10000, usage,
            "views is not a list of 1 to 10000 views", "request");
  std::vector<nvs::OrbitView> views;
  for (const Json& view : list) views.push_back(parse_view(view));
  return views;
}

bool host_allowed(std::string_view header, const std::vector<std::string>& allowed) {
  std::string host = lower(header);
  const std::size_t bracket = host.find(']');
  if (host.starts_with("[")) {
    if (bracket == std::string::npos) return false;
    const std::string rest = host.substr(bracket + 1);
    if (!rest.empty() && !rest.starts_with(":")) return false;
    return is_address(host.substr(1, bracket - 1));
  }
  host = host.substr(0, host.find(':'));
  if (is_address(host) || host == "localhost") return true;
  return std::any_of(allowed.begin(), allowed.end(),
                     [&](const std::string& name) { return !name.empty() && lower(name) == host; });
}

}  // namespace ttt::cli
