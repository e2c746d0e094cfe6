// SPDX-FileCopyrightText: The ttt authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/support/paths.h"

#include <nlohmann/json.hpp>

#include <string>
#include <sys/types.h>
#include <vector>

namespace ttt::test {

/// A headless Chromium with one page, spoken to in the DevTools protocol over a pipe.
class Browser {
 public:
  using Json = nlohmann::json;

  /// The program's path, or empty where there is none.
  static std::string find();

  explicit Browser(const std::string& url);
  ~Browser();
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  /// The result of a command to the page. Throws std::runtime_error when there is no answer, or an
  /// error.
  Json command(const std::string& method, const Json& parameters = Json::object());
  /// The value of a JavaScript expression; a promise's when it is kept.
  Json evaluate(const std::string& expression);
  /// Waits until an expression is true; false after a minute.
  bool wait_until(const std::string& expression);
  void mouse(const std::string& type, double x, double y, const Json& more = Json::object());
  void touch(const std::string& type, const std::vector<std::pair<double, double>>& points);
  void key(const std::string& name);
  /// Downloaded files arrive here.
  const std::filesystem::path& downloads() const { return downloads_.path(); }
  /// Errors in the page's console so far, such as what its policy blocked.
  const std::vector<std::string>& errors() const { return errors_; }

 private:
  void start();
  Json send(const std::string& method, const Json& parameters);
  Json receive();
  void note(const Json& event);

  TempDir profile_, downloads_;
  pid_t child_ = 0;
  int to_ = -1, from_ = -1;
  std::string buffer_;
  std::string session_;
  int last_id_ = 0;
  std::vector<std::string> errors_;
};

}  // namespace ttt::test
