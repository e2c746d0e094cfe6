// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nvs/viewer/latest_queue.h"
#include "nvs/viewer/orbit.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ttt::cli {

/// An encoded picture.
struct ViewedPicture {
  std::string bytes;
  std::string type;  ///< "image/png" or "image/jpeg"
  int width = 0;
  int height = 0;
  double milliseconds = 0;  ///< that rendering took
};

/// What the page of a scene asks for.
struct ViewService {
  std::string scene;  ///< JSON: what the page shows beside the pictures
  /// Runs on the thread that calls ViewServer::serve().
  std::function<ViewedPicture(const nvs::OrbitView& view, bool draft)> render;
  /// A camera path file of these views.
  std::function<std::string(std::span<const nvs::OrbitView> views)> cameras;
};

/// Serves the viewer's page and its pictures over HTTP.
///
///   GET  /, /view.css, /view.js   the page
///   GET  /api/scene               ViewService::scene
///   POST /api/frame               {"client", "sequence", "draft", "view"}: a picture, with
///                                 X-Render-Milliseconds and X-Picture-Size; 204 when a newer
///                                 request of the client came before its turn
///   POST /api/cameras             {"views": [...]}: a camera path file
///
/// Requests must name us by an address, as localhost or as an allowed host (so that no other site
/// gets in by pointing its name here), and come from our own page if a page sent them.
class ViewServer {
 public:
  struct Settings {
    std::string host = "127.0.0.1";
    int port = 0;  ///< 0: a free one
    std::vector<std::string> allowed_hosts = {};
  };

  /// Takes the address; requests wait until start(). Throws Error(usage).
  explicit ViewServer(const Settings& settings);
  ~ViewServer();
  ViewServer(const ViewServer&) = delete;
  ViewServer& operator=(const ViewServer&) = delete;

  int port() const { return port_; }
  std::string url() const;

  /// Answers requests on threads of its own from now on. Once.
  void start(ViewService service);
  /// Renders the next picture on the calling thread; see LatestQueue::serve().
  bool serve(std::chrono::milliseconds wait) { return queue_.serve(wait); }
  /// Ends all requests and threads.
  void stop();
  nvs::LatestQueue::Counts counts() const { return queue_.counts(); }

 private:
  struct Http;

  Settings settings_;
  int port_ = 0;
  nvs::LatestQueue queue_;
  std::unique_ptr<Http> http_;
};

}  // namespace ttt::cli
