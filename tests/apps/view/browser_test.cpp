// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/view/browser.h"

#include "tests/apps/render_bench.h"
#include "tests/apps/view/view_session.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <thread>

namespace ttt::test {
namespace {

using Json = nlohmann::json;

/// A page that shows its first picture.
class ViewPage : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Browser::find().empty())
      GTEST_SKIP() << "there is no Chromium here (Debian: apt-get install chromium)";
    session_.emplace(ViewSession::Arguments{});
    ASSERT_TRUE(session_->serves());
    browser_.emplace(session_->url());
    ASSERT_TRUE(rests()) << browser_->evaluate("document.getElementById('status')?.textContent");
  }
  void TearDown() override {
    if (!browser_) return;
    EXPECT_EQ(browser_->errors(), std::vector<std::string>{});
  }

  /// Waits until the page shows the newest picture in full size.
  bool rests() {
    return browser_->wait_until(
        "document.readyState === 'complete' && document.body.dataset.draft === 'false' && "
        "Number(document.body.dataset.frame) === sequence && !drawPending");
  }
  /// The shown pixels as a text.
  std::string pixels() {
    return browser_->evaluate(
        "(() => { const canvas = document.createElement('canvas');"
        "canvas.width = picture.naturalWidth; canvas.height = picture.naturalHeight;"
        "const context = canvas.getContext('2d'); context.drawImage(picture, 0, 0);"
        "return canvas.width + ' ' + context.getImageData(0, 0, canvas.width, canvas.height)"
        ".data.join(); })()");
  }
  double view(const std::string& field) { return browser_->evaluate("view." + field); }
  /// Counts the drafts that are shown from now on.
  void count_drafts() {
    browser_->evaluate(
        "window.drafts = 0; new MutationObserver(() => {"
        "if (document.body.dataset.draft === 'true') ++window.drafts; })"
        ".observe(document.body, {attributes: true}); 0");
  }
  void drag(double x, double y, const Json& more = Json::object()) {
    Json held{{"button", "left"}, {"buttons", 1}, {"clickCount", 1}};
    held.update(more);
    browser_->mouse("mousePressed", 400, 300, held);
    for (int i = 1; i <= 5; ++i)
      browser_->mouse("mouseMoved", 400 + i * x / 5, 300 + i * y / 5, held);
    // Held still: a draft comes first, then the full picture.
    EXPECT_TRUE(rests());
    held["buttons"] = 0;
    browser_->mouse("mouseReleased", 400 + x, 300 + y, held);
    EXPECT_TRUE(rests());
  }

  std::optional<ViewSession> session_;
  std::optional<Browser> browser_;
};

TEST_F(ViewPage, DraggingTurnsTheCamera) {
  const std::string before = pixels();
  EXPECT_EQ(before.substr(0, 3), "32 ");
  const double yaw = view("yaw"), pitch = view("pitch");
  count_drafts();
  drag(150, 60);
  EXPECT_NE(pixels(), before);
  EXPECT_EQ(pixels().substr(0, 3), "32 ");
  EXPECT_LT(view("yaw"), yaw - 5);
  EXPECT_GT(view("pitch"), pitch + 2);
  EXPECT_GT(browser_->evaluate("window.drafts").get<int>(), 0);
  // Back to the start: the same pixels.
  browser_->key("r");
  EXPECT_TRUE(rests());
  EXPECT_EQ(pixels(), before);
  EXPECT_TRUE(browser_->evaluate("document.getElementById('status').textContent")
                  .get<std::string>()
                  .find("32 × 24") != std::string::npos);
}

TEST_F(ViewPage, OtherButtonsWheelAndKeysMoveTheCamera) {
  const auto pivot = [&] { return browser_->evaluate("view.pivot.join()").get<std::string>(); };
  std::string place = pivot();
  drag(80, 0, {{"button", "right"}, {"buttons", 2}});
  EXPECT_NE(pivot(), place);
  place = pivot();
  drag(0, 50, {{"modifiers", 8}});
  EXPECT_NE(pivot(), place);
  const double distance = view("distance");
  browser_->mouse("mouseWheel", 400, 300, {{"deltaX", 0}, {"deltaY", 120}});
  EXPECT_TRUE(browser_->wait_until("view.distance > " + std::to_string(1.05 * distance)));
  browser_->key("+");
  EXPECT_TRUE(rests());
  const double yaw = view("yaw"), roll = view("roll"), field = view("field_of_view");
  browser_->key("ArrowRight");
  browser_->key("q");
  browser_->key("]");
  EXPECT_TRUE(rests());
  EXPECT_NEAR(view("yaw"), yaw + 4, 1e-9);
  EXPECT_NEAR(view("roll"), roll - 3, 1e-9);
  EXPECT_NEAR(view("field_of_view"), field + 2, 1e-9);
  browser_->key("l");
  EXPECT_TRUE(rests());
  EXPECT_EQ(view("roll"), 0);
}

TEST_F(ViewPage, FingersTurnAndPinch) {
  browser_->command("Emulation.setTouchEmulationEnabled", {{"enabled", true}});
  const double yaw = view("yaw"), distance = view("distance");
  browser_->touch("touchStart", {{400, 300}});
  browser_->touch("touchMove", {{430, 300}});
  browser_->touch("touchMove", {{480, 300}});
  browser_->touch("touchEnd", {});
  EXPECT_TRUE(rests());
  EXPECT_LT(view("yaw"), yaw - 2);
  browser_->touch("touchStart", {{350, 300}, {450, 300}});
  browser_->touch("touchMove", {{340, 300}, {460, 300}});
  browser_->touch("touchMove", {{300, 300}, {500, 300}});
  browser_->touch("touchEnd", {});
  EXPECT_TRUE(rests());
  EXPECT_NEAR(view("distance"), distance / 2, 0.1 * distance);
}

TEST_F(ViewPage, PosesPathsAndFiles) {
  const std::string before = pixels();
  browser_->evaluate("document.getElementById('next').click()");
  EXPECT_TRUE(rests());
  EXPECT_NE(pixels(), before);
  EXPECT_EQ(browser_->evaluate("JSON.stringify(view)"),
            browser_->evaluate("JSON.stringify(scene.poses[1].view)"));
  browser_->evaluate(
      "document.getElementById('along').value = 5;"
      "document.getElementById('along').dispatchEvent(new Event('input'))");
  EXPECT_TRUE(rests());
  EXPECT_EQ(browser_->evaluate("JSON.stringify(view)"),
            browser_->evaluate("JSON.stringify(scene.paths[0].views[5])"));
  const auto downloaded = [&](const std::string& button, const std::string& name) {
    browser_->evaluate("document.getElementById('" + button + "').click()");
    const auto file = browser_->downloads() / name;
    const auto there = [&] {
      std::error_code ignored;
      return std::filesystem::exists(file) && std::filesystem::file_size(file, ignored) > 0;
    };
    for (int i = 0; i < 3000 && !there(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return read_text_file(file);
  };
  EXPECT_EQ(downloaded("savePicture", "view.png"),
            session_->picture(
                Json::parse(browser_->evaluate("JSON.stringify(view)").get<std::string>())));
  EXPECT_EQ(Json::parse(downloaded("saveCamera", "camera.json")).size(), 1U);
  browser_->key("k");
  browser_->evaluate("document.getElementById('reset').click()");
  browser_->key("k");
  EXPECT_TRUE(rests());
  const Json list = Json::parse(downloaded("saveCameras", "cameras.json"));
  ASSERT_EQ(list.size(), 2U);
  EXPECT_NE(list[0]["w2c"], list[1]["w2c"]);
}

TEST_F(ViewPage, TellsWhenTheServerHasEnded) {
  session_->end();
  browser_->key("ArrowLeft");
  EXPECT_TRUE(browser_->wait_until(
      "document.getElementById('status').textContent === 'the server has ended'"));
  browser_.reset();  // with an error in its console, rightly
}

}  // namespace
}  // namespace ttt::test
