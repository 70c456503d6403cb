// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace transmute {
inline namespace v0 {

/// One line at the bottom of a terminal that is drawn over and over; nothing if standard error is no
/// terminal.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// True if there is a terminal to draw on.
  bool visible() const { return visible_; }

  /// True if there is a terminal and the last drawing is at least 0.1 s ago: more often nobody can read it.
  bool is_due() const;

  /// Draws `text` after a bar of `done` (0 to 1; no bar where that is negative, as unknown), cut to the terminal's
  /// width.
  void show(double done, const std::string& text);

  /// Takes the line away, so that other text can be printed.
  void clear();

 private:
  bool visible_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point drawn_at_{};
};

/// 75 -> "1:15", 4000 -> "1:06:40".
std::string format_duration(double seconds);

/// 1234567 -> "1,234,567".
std::string format_count(int64_t count);

/// (1, "line") -> "1 line", (1234, "line") -> "1,234 lines", (2, "entry", "entries") -> "2 entries".
std::string counted(int64_t count, const std::string& singular, const std::string& plural = "");

/// The text with control characters, which a terminal would obey, and bytes that are not UTF-8 written as \x1b, \n and
/// \u009b: messages may quote files of strangers.
std::string without_control(const std::string& text);

}  // namespace v0
}  // namespace transmute
