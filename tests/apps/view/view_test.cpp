// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/media/decode.h"
#include "tests/apps/render_bench.h"
#include "tests/apps/view/view_session.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <thread>

namespace ttt::test {
namespace {

using Json = nlohmann::json;

const RenderBench& bench() {
  return render_bench();
}

Image decoded(const std::string& bytes) {
  return decode_image(std::vector<std::uint8_t>(bytes.begin(), bytes.end()), DecodeMode::photo,
                      "picture");
}

int largest_difference(const Image& a, const Image& b) {
  EXPECT_EQ(a.rgb.size(), b.rgb.size());
  int largest = 0;
  for (std::size_t i = 0; i < std::min(a.rgb.size(), b.rgb.size()); ++i)
    largest = std::max(largest, std::abs(int{a.rgb[i]} - int{b.rgb[i]}));
  return largest;
}

/// The picture that `ttt render` makes of a frame's camera with the same state.
Image rendered(const std::string& state, const std::string& path) {
  bench().rows({"--state", state, "--path", path, "-o", "view_rendered", "--overwrite"});
  return decoded(read_text_file(bench() / "view_rendered/0000.png"));
}

TEST(View, ShowsWhatRenderRenders) {
  ViewSession session({"--save-state", "shown.safetensors", "--overwrite"});
  const Json scene = session.scene();
  ASSERT_EQ(scene["poses"].size(), 10U);
  EXPECT_EQ(scene["poses"][2]["input"], true);
  EXPECT_EQ(scene["poses"][3]["input"], false);
  // A photograph's pose, by way of the page's view of it.
  const Image shown = decoded(session.picture(scene["poses"][3]["view"]));
  bench().rows({"ring", "--state", "shown.safetensors", "--target-views", "3", "--input-views", "0",
                "-o", "view_pose", "--overwrite"});
  EXPECT_LE(largest_difference(shown, decoded(read_text_file(bench() / "view_pose/0000.png"))), 1);
  // A view that no photograph has, by way of its camera file.
  Json view = scene["start"];
  view["yaw"] = 40;
  view["roll"] = 10;
  view["pivot"] = {0.1, 0.2, -0.1};
  view["field_of_view"] = 35;
  write_text_file(bench() / "view_camera.json",
                  session.post("/api/cameras", {{"views", {view, scene["start"]}}}));
  const Image moved = decoded(session.picture(view));
  EXPECT_GT(largest_difference(moved, shown), 5);
  EXPECT_LE(largest_difference(moved, rendered("shown.safetensors", "view_camera.json")), 1);
  const Json summary = session.end();
  EXPECT_EQ(summary["status"], "summary");
  EXPECT_EQ(summary["counts"]["rendered"], 2);
  EXPECT_EQ(summary["interrupted"], true);
}

TEST(View, PathsLeadThroughTheScene) {
  ViewSession session({});
  const Json scene = session.scene();
  std::map<std::string, Json> paths;
  for (const Json& path : scene["paths"]) paths[path["name"]] = path["views"];
  ASSERT_TRUE(paths.contains("orbit") && paths.contains("interpolate"));
  EXPECT_NEAR(std::abs(paths["orbit"][45]["yaw"].get<double>()), 180, 1e-6);
  for (const char* angle : {"yaw", "pitch", "roll", "distance"})
    EXPECT_NEAR(paths["interpolate"][0][angle].get<double>(), scene["start"][angle].get<double>(),
                1e-6)
        << angle;
  EXPECT_EQ(paths["interpolate"].size(), 31U);
  EXPECT_FALSE(session.picture(paths["spiral"][7], true).empty());
}

TEST(View, SeveralBrowsersShareOneRenderer) {
  ViewSession session({});
  const Json start = session.scene()["start"];
  std::vector<std::thread> browsers;
  for (int browser = 0; browser < 4; ++browser)
    browsers.emplace_back([&, browser] {
      Json view = start;
      for (int i = 0; i < 5; ++i) {
        view["yaw"] = 10 * browser + i;
        const std::string bytes =
            session.post("/api/frame", {{"client", "browser-" + std::to_string(browser)},
                                        {"sequence", i},
                                        {"draft", true},
                                        {"view", view}});
        EXPECT_EQ(decoded(bytes).width, 16);
      }
    });
  for (std::thread& browser : browsers) browser.join();
  EXPECT_EQ(session.end()["counts"]["rendered"], 20);
}

TEST(View, UnreadablePicturesAreLeftOut) {
  ViewSession session({"holes", "--input-views", "0,2,4"});
  EXPECT_EQ(session.scene()["input_views"], 2);
  EXPECT_EQ(session.scene()["poses"].size(), 9U);
  EXPECT_EQ(session.end()["counts"]["unreadable_pictures"], 2);
}

TEST(View, EndsBySigtermToo) {
  ViewSession session({});
  session.program().signal(SIGTERM);
  EXPECT_EQ(session.program().wait().code, 130);
}

}  // namespace
}  // namespace ttt::test
