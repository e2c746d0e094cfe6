// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#include "core/error.h"
#include "nvs/cameras/normalization.h"
#include "nvs/viewer/latest_queue.h"
#include "nvs/viewer/orbit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <numbers>
#include <random>
#include <thread>

namespace ttt::nvs {
namespace {

using Outcome = LatestQueue::Outcome;
using std::chrono::milliseconds;

std::vector<Camera> ring(int count, const Vector3& center, double radius) {
  std::vector<Camera> cameras;
  for (int i = 0; i < count; ++i) {
    const double angle = 2 * std::numbers::pi * i / count;
    const Vector3 position =
        center + Vector3{radius * std::cos(angle), radius * std::sin(angle), 0.4 * radius};
    cameras.push_back({look_at(position, center, {0, 0, 1}), {40, 42, 31, 25}, 64, 48});
  }
  return cameras;
}

void expect_same(const Camera& a, const Camera& b, double tolerance) {
  for (std::size_t i = 0; i < 9; ++i)
    EXPECT_NEAR(a.camera_to_world.linear.m[i], b.camera_to_world.linear.m[i], tolerance);
  EXPECT_NEAR(length(a.position() - b.position()), 0, tolerance * (1 + length(b.position())));
  EXPECT_NEAR(a.intrinsics.fx, b.intrinsics.fx, 100 * tolerance);
  EXPECT_NEAR(a.intrinsics.fy, b.intrinsics.fy, 100 * tolerance);
  EXPECT_NEAR(a.intrinsics.cx, b.intrinsics.cx, 100 * tolerance);
  EXPECT_NEAR(a.intrinsics.cy, b.intrinsics.cy, 100 * tolerance);
}

TEST(Orbit, FrameLooksAtWhatTheCamerasLookAt) {
  const Vector3 center{3, -2, 5};
  const auto cameras = ring(9, center, 2);
  const OrbitFrame frame = orbit_frame(cameras);
  EXPECT_NEAR(length(frame.center - center), 0, 1e-9);
  EXPECT_NEAR(frame.unit, std::sqrt(4 + 0.64), 1e-9);
  EXPECT_NEAR(dot(frame.axes.column(2), {0, 0, 1}), 1, 1e-9);
  EXPECT_NEAR(determinant(frame.axes), 1, 1e-12);
  const OrbitView view = frame.view(cameras[0]);
  EXPECT_NEAR(view.yaw, 0, 1e-6);
  EXPECT_NEAR(view.distance, 1, 1e-9);
  EXPECT_NEAR(length(view.pivot), 0, 1e-9);
  EXPECT_NEAR(view.pitch, 21.801, 1e-3);
  EXPECT_NEAR(view.roll, 0, 1e-9);
}

TEST(Orbit, EveryCameraComesBack) {
  const OrbitFrame frame = orbit_frame(ring(5, {1, 2, 3}, 4));
  std::mt19937 random(11);
  std::uniform_real_distribution<double> any(-1, 1);
  for (int i = 0; i < 200; ++i) {
    const Quaternion q{any(random), any(random), any(random), any(random)};
    const Camera camera{
        {rotation(q), {9 * any(random), 9 * any(random), 9 * any(random)}},
        {50 + 20 * any(random), 50 + 20 * any(random), 32 + 9 * any(random), 24 + 9 * any(random)},
        64,
        48};
    expect_same(frame.camera(frame.view(camera), 64, 48), camera, 1e-9);
  }
}

TEST(Orbit, FromThePolesToo) {
  const OrbitFrame frame = orbit_frame(ring(5, {0, 0, 0}, 1));
  for (const double side : {1.0, -1.0})
    for (const Vector3& up : {Vector3{1, 0, 0}, Vector3{0, -1, 0}, Vector3{0.6, 0.8, 0}}) {
      const Camera camera{look_at({0, 0, side * 3}, {}, up), {40, 40, 32, 24}, 64, 48};
      expect_same(frame.camera(frame.view(camera), 64, 48), camera, 1e-9);
    }
}

TEST(Orbit, AnglesTurnTheWayTheirNamesSay) {
  const OrbitFrame frame = orbit_frame(ring(6, {0, 0, 0}, 1));
  const Camera start = frame.camera({}, 64, 48);
  const auto with = [&](auto change) {
    OrbitView view;
    change(view);
    return frame.camera(view, 64, 48);
  };
  const Camera right = with([](OrbitView& view) { view.yaw = 10; });
  EXPECT_GT(dot(right.position() - start.position(), start.right()), 0.1);
  const Camera above = with([](OrbitView& view) { view.pitch = 10; });
  EXPECT_LT(dot(above.position() - start.position(), start.down()), -0.1);
  const Camera rolled = with([](OrbitView& view) { view.roll = 10; });
  EXPECT_EQ(rolled.position(), start.position());
  EXPECT_GT(dot(rolled.right(), start.down()), 0.1);
  const Camera far = with([](OrbitView& view) { view.distance = 2; });
  EXPECT_NEAR(length(far.position() - frame.center), 2 * frame.unit, 1e-12);
  const Camera wide = with([](OrbitView& view) { view.field_of_view = 90; });
  EXPECT_NEAR(wide.intrinsics.fx, 32, 1e-9);
}

TEST(Orbit, WhatASmallPictureShowsIsWhatALargeOneShows) {
  const OrbitFrame frame = orbit_frame(ring(5, {0, 0, 0}, 1));
  const OrbitView view = frame.view(ring(5, {0.1, 0, 0}, 1.2)[2]);
  const Camera large = frame.camera(view, 640, 480), small = frame.camera(view, 64, 40);
  EXPECT_NEAR(large.intrinsics.fx / 640, small.intrinsics.fx / 64, 1e-12);
  EXPECT_NEAR(large.intrinsics.fy / 480, small.intrinsics.fy / 40, 1e-12);
  EXPECT_NEAR(large.intrinsics.cx / 640, small.intrinsics.cx / 64, 1e-12);
  EXPECT_NEAR(large.intrinsics.cy / 480, small.intrinsics.cy / 40, 1e-12);
}

TEST(Orbit, CamerasWithoutACommonPointGetAnOriginAhead) {
  const Camera one{{{}, {1, 1, 1}}, {40, 40, 32, 24}, 64, 48};
  const OrbitFrame alone = orbit_frame({&one, 1}, 3);
  EXPECT_EQ(alone.unit, 3);
  EXPECT_NEAR(length(alone.center - Vector3{1, 1, 4}), 0, 1e-12);
  std::vector<Camera> parallel(3, one);
  parallel[0].camera_to_world.translation.x = 0;
  parallel[2].camera_to_world.translation.x = 2;
  EXPECT_NEAR(length(orbit_frame(parallel).center - Vector3{1, 1, 2}), 0, 1e-12);
  // Their common point lies behind them.
  std::vector<Camera> outward = ring(4, {0, 0, 0}, 1);
  for (Camera& camera : outward)
    camera.camera_to_world = look_at(camera.position(), 2.0 * camera.position(), {0, 0, 1});
  for (const double value : orbit_frame(outward).axes.m) EXPECT_TRUE(std::isfinite(value));
  const OrbitFrame behind = orbit_frame(outward);
  expect_same(behind.camera(behind.view(outward[1]), 64, 48), outward[1], 1e-9);
}

TEST(Orbit, RefusesViewsThatMakeNoPicture) {
  const OrbitFrame frame = orbit_frame(ring(5, {0, 0, 0}, 1));
  const auto refused = [&](auto change) {
    OrbitView view;
    change(view);
    EXPECT_THROW(frame.camera(view, 64, 48), Error);
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  refused([&](OrbitView& view) { view.pivot.y = nan; });
  refused([&](OrbitView& view) { view.yaw = std::numeric_limits<double>::infinity(); });
  refused([](OrbitView& view) { view.pitch = 91; });
  refused([](OrbitView& view) { view.distance = 0; });
  refused([](OrbitView& view) { view.field_of_view = 180; });
  refused([](OrbitView& view) { view.field_of_view = 0; });
  refused([](OrbitView& view) { view.stretch = 0; });
  refused([](OrbitView& view) { view.shift_x = 1e9; });
}

TEST(Normalization, IsUndone) {
  const auto cameras = ring(7, {4, 4, 1}, 3);
  for (const PoseNormalization& change : {normalize_poses(cameras), fit_object(cameras)})
    for (const Camera& camera : cameras)
      expect_same(change.undo(change.apply(camera)), camera, 1e-12);
}

/// Requests on threads of their own; the test itself serves.
class Clients {
 public:
  explicit Clients(LatestQueue& queue) : queue_(queue) {}
  ~Clients() {
    queue_.close();
    for (std::thread& thread : threads_) thread.join();
  }
  /// Starts a request and waits until it has its place, or its answer.
  std::shared_ptr<std::atomic<int>> ask(const std::string& client, std::int64_t sequence,
                                        std::function<void()> work) {
    auto answer = std::make_shared<std::atomic<int>>(kPending);
    const auto before = places();
    threads_.emplace_back([=, this] {
      try {
        *answer = queue_.request(client, sequence, work) == Outcome::done ? kDone : kReplaced;
      } catch (const Error& error) {
        *answer = error.kind() == ErrorKind::interrupted ? kClosed : kFailed;
      }
    });
    while (*answer == kPending && places() == before) std::this_thread::yield();
    return answer;
  }
  static void expect(const std::shared_ptr<std::atomic<int>>& answer, int wanted) {
    while (*answer == kPending) std::this_thread::yield();
    EXPECT_EQ(*answer, wanted);
  }

  static constexpr int kPending = 0, kDone = 1, kReplaced = 2, kClosed = 3, kFailed = 4;

 private:
  std::int64_t places() const {
    const LatestQueue::Counts counts = queue_.counts();
    return static_cast<std::int64_t>(counts.waiting) + counts.replaced;
  }
  LatestQueue& queue_;
  std::vector<std::thread> threads_;
};

TEST(LatestQueue, ANewerRequestTakesTheOldersPlace) {
  LatestQueue queue;
  std::string order;
  Clients clients(queue);
  const auto a1 = clients.ask("a", 1, [&] { order += "a1 "; });
  const auto b1 = clients.ask("b", 1, [&] { order += "b1 "; });
  const auto a2 = clients.ask("a", 2, [&] { order += "a2 "; });
  const auto a3 = clients.ask("a", 3, [&] { order += "a3 "; });
  Clients::expect(a1, Clients::kReplaced);
  Clients::expect(a2, Clients::kReplaced);
  EXPECT_EQ(*b1, Clients::kPending);
  while (queue.serve(milliseconds(0))) {
  }
  Clients::expect(a3, Clients::kDone);
  Clients::expect(b1, Clients::kDone);
  EXPECT_EQ(order, "a3 b1 ");
  EXPECT_EQ(queue.counts().done, 2);
  EXPECT_EQ(queue.counts().replaced, 2);
}

TEST(LatestQueue, AnOlderRequestThatComesLateIsReplaced) {
  LatestQueue queue;
  Clients clients(queue);
  const auto newer = clients.ask("a", 5, [] {});
  Clients::expect(clients.ask("a", 4, [] { FAIL(); }), Clients::kReplaced);
  EXPECT_TRUE(queue.serve(milliseconds(0)));
  Clients::expect(newer, Clients::kDone);
}

TEST(LatestQueue, ClientsTakeTurns) {
  LatestQueue queue;
  std::string order;
  Clients clients(queue);
  // However often the busy client asks, the other's turn comes second.
  for (int i = 0; i < 5; ++i) clients.ask("busy", i, [&] { order += "busy "; });
  clients.ask("quiet", 0, [&] { order += "quiet "; });
  EXPECT_TRUE(queue.serve(milliseconds(0)));
  for (int i = 5; i < 10; ++i) clients.ask("busy", i, [&] { order += "busy "; });
  EXPECT_TRUE(queue.serve(milliseconds(0)));
  EXPECT_TRUE(queue.serve(milliseconds(0)));
  EXPECT_FALSE(queue.serve(milliseconds(0)));
  EXPECT_EQ(order, "busy quiet busy ");
}

TEST(LatestQueue, ARequestDuringWorkWaits) {
  LatestQueue queue;
  std::string order;
  Clients clients(queue);
  std::shared_ptr<std::atomic<int>> second;
  const auto first = clients.ask("a", 1, [&] {
    order += "first ";
    second = clients.ask("a", 2, [&] { order += "second "; });
  });
  EXPECT_TRUE(queue.serve(milliseconds(0)));
  Clients::expect(first, Clients::kDone);
  EXPECT_TRUE(queue.serve(milliseconds(0)));
  Clients::expect(second, Clients::kDone);
  EXPECT_EQ(order, "first second ");
}

TEST(LatestQueue, ErrorsReachWhoAsked) {
  LatestQueue queue(1);
  Clients clients(queue);
  const auto answer = clients.ask("a", 1, [] { throw Error(ErrorKind::input, "this work fails"); });
  Clients::expect(clients.ask("b", 1, [] {}), Clients::kFailed);  // the queue is full
  EXPECT_TRUE(queue.serve(milliseconds(0)));
  Clients::expect(answer, Clients::kFailed);
}

TEST(LatestQueue, ClosingEndsAllWaiting) {
  LatestQueue queue;
  Clients clients(queue);
  const auto a = clients.ask("a", 1, [] { FAIL(); });
  const auto b = clients.ask("b", 1, [] { FAIL(); });
  queue.close();
  Clients::expect(a, Clients::kClosed);
  Clients::expect(b, Clients::kClosed);
  EXPECT_FALSE(queue.serve(milliseconds(60000)));
  EXPECT_THROW(queue.request("c", 1, [] {}), Error);
}

TEST(LatestQueue, ServingWaitsForWork) {
  LatestQueue queue;
  bool served = false;
  std::thread server([&] { served = queue.serve(milliseconds(60000)); });
  EXPECT_EQ(queue.request("a", 1, [] {}), Outcome::done);
  server.join();
  EXPECT_TRUE(served);
}

}  // namespace
}  // namespace ttt::nvs
