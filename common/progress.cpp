// SPDX-License-Identifier: Apache-2.0
#include <transmute/common/progress.h>

#include <spdlog/fmt/fmt.h>
#include <sys/ioctl.h>
#include <transmute/common/utf8.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace transmute {
inline namespace v0 {

namespace {

constexpr int kBarCells = 16;

int terminal_columns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

// The terminal may be gone by now: what continues does so without it.
void draw(const std::string& line) {
  std::fputs(("\r\033[K" + line).c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace

ProgressLine::ProgressLine() : visible_(isatty(STDERR_FILENO) == 1) {}

ProgressLine::~ProgressLine() {
  clear();
}

bool ProgressLine::is_due() const {
  return visible_ && std::chrono::steady_clock::now() - drawn_at_ >= std::chrono::milliseconds(100);
}

void ProgressLine::show(double done, const std::string& text) {
  if (!visible_) return;
  // The last column stays free: a terminal that wraps would leave the rest behind. The text goes before the bar.
  const int columns = std::max(terminal_columns() - 1, 1);
  const int bar = std::clamp(columns - 3 - static_cast<int>(text.size()), 0, kBarCells);
  const auto cells = static_cast<size_t>(std::clamp(done, 0.0, 1.0) * bar);
  std::string line = done < 0 || bar < 2 ? text : fmt::format("[{:-<{}}] {}", std::string(cells, '#'), bar, text);
  line.resize(std::min(line.size(), static_cast<size_t>(columns)));
  draw(line);
  drawn_ = true;
  drawn_at_ = std::chrono::steady_clock::now();
}

void ProgressLine::clear() {
  if (!drawn_) return;
  draw("");
  drawn_ = false;
}

std::string format_duration(double seconds) {
  const auto total = static_cast<int64_t>(std::llround(std::max(seconds, 0.0)));
  const int64_t hours = total / 3600;
  if (hours > 0) return fmt::format("{}:{:02d}:{:02d}", hours, total / 60 % 60, total % 60);
  return fmt::format("{}:{:02d}", total / 60, total % 60);
}

std::string format_count(int64_t count) {
  std::string digits = fmt::format("{}", count);
  for (auto i = static_cast<int64_t>(digits.size()) - 3; i > (count < 0 ? 1 : 0); i -= 3)
    digits.insert(static_cast<size_t>(i), 1, ',');
  return digits;
}

std::string counted(int64_t count, const std::string& singular, const std::string& plural) {
  return format_count(count) + " " + (count == 1 ? singular : plural.empty() ? singular + "s" : plural);
}

std::string without_control(const std::string& text) {
  constexpr UChar32 kDelete = 0x7F, kEndOfC1 = 0xA0;
  std::string safe;
  for (const auto& [code, begin, end] : Characters(text)) {
    if (code == '\n') {
      safe += "\\n";
    } else if (code > kDelete && code < kEndOfC1) {
      safe += fmt::format("\\u{:04x}", code);
    } else if (code < ' ' || code == kDelete) {
      for (size_t i = begin; i < end; ++i) safe += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
    } else {
      safe.append(text, begin, end - begin);
    }
  }
  return safe;
}

}  // namespace v0
}  // namespace transmute
