// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/shared/line_progress.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/text_file.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

namespace transmute {

bool may_show(const ProgressLine& line, const std::string& output) {
  return line.visible() && (!is_standard_stream(output) || isatty(STDOUT_FILENO) == 0);
}

LineProgress::LineProgress(const StreamFlags& streams, int64_t before)
    : shown_(may_show(line_, streams.output)), before_(before) {
  if (!shown_ || !std::filesystem::is_regular_file(streams.input)) return;  // a pipe can be read once only
  try {
    LineReader reader(streams.input, {InvalidUtf8::replace, streams.lines.max_line_bytes});
    for (std::string line; reader.next(line);) ++lines_;
  } catch (const std::runtime_error&) {  // the program comes to that line too, and says so
  }
}

void LineProgress::show(int64_t done) {
  if (!shown_ || !line_.is_due()) return;
  const double seconds = clock_.seconds();
  const double rate = static_cast<double>(done - before_) / seconds;
  std::string text = fmt::format("{} | {} lines/s | {}", counted(done, "line"),
                                 format_count(static_cast<int64_t>(rate)), format_duration(seconds));
  if (lines_ > 0 && done > before_)
    text += " | " + format_duration(static_cast<double>(lines_ - done) / rate) + " left";
  line_.show(lines_ > 0 ? static_cast<double>(done) / static_cast<double>(lines_) : -1, text);
}

}  // namespace transmute
