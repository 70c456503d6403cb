// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/json.h>
#include <transmute/tests/support/temporary_folder.h>

#include <sys/types.h>

#include <string>
#include <vector>

namespace transmute::testing {

/// A page in a headless Chromium, driven over a pipe by Chromium's own protocol (--remote-debugging-pipe).
class BrowserPage {
 public:
  /// The name of an installed Chromium, or "".
  static std::string chromium();

  /// @throws std::runtime_error where Chromium does not run here.
  BrowserPage();
  ~BrowserPage();
  BrowserPage(const BrowserPage&) = delete;
  BrowserPage& operator=(const BrowserPage&) = delete;

  void open(const std::string& address);
  /// The value of a JavaScript expression; promises are awaited.
  Json evaluate(const std::string& expression);
  /// False where the expression stays false for 30 seconds.
  bool becomes_true(const std::string& expression);
  /// Types it as a person does.
  void type(const std::string& text);
  /// A key by its KeyboardEvent.key; `modifiers`: 1 is Alt, 2 is Control, 8 is Shift.
  void press(const std::string& key, const std::string& code, int key_code, int modifiers = 0);
  /// Shows the page as a window of this size does; with `touch`, as a phone does.
  void resize(int width, int height, bool touch);
  /// A tap or a click into the middle of what `selector` finds, where it is now.
  void tap(const std::string& selector);
  void click(const std::string& selector);
  /// "role name" of everything that a screen reader is told of.
  std::vector<std::string> accessible_nodes();
  Json call(const std::string& method);
  Json call(const std::string& method, const Json& parameters, bool of_page = true);

  /// The addresses that were asked for, the content types that came, and what went wrong in scripts or with the
  /// Content-Security-Policy.
  const std::vector<std::string>& requests() const { return requests_; }
  const std::vector<std::string>& content_types() const { return content_types_; }
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  Json read_message();
  Json middle_of(const std::string& selector);
  void notice(const Json& event);

  TemporaryFolder folder_;
  pid_t process_ = -1;
  int to_browser_ = -1, from_browser_ = -1, last_id_ = 0;
  std::string session_, received_;
  std::vector<std::string> requests_, content_types_, problems_;
};

}  // namespace transmute::testing
