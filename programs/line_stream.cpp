// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/line_stream.h>

#include <poll.h>
#include <spdlog/fmt/fmt.h>
#include <transmute/common/text_file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace transmute {

namespace {
constexpr size_t kReadBytes = 1 << 16;
}

LineStream::LineStream(int descriptor, std::string name) : descriptor_(descriptor), name_(std::move(name)) {}

bool LineStream::more_is_waiting() const {
  pollfd waiting{descriptor_, POLLIN, 0};
  return poll(&waiting, 1, 0) == 1;
}

// Waits for more bytes; false at the end.
bool LineStream::fill() {
  buffer_.erase(0, position_);
  position_ = 0;
  const size_t kept = buffer_.size();
  buffer_.resize(kept + kReadBytes);
  ssize_t count = -1;
  do {
    count = ::read(descriptor_, buffer_.data() + kept, kReadBytes);
  } while (count < 0 && errno == EINTR);
  buffer_.resize(kept + static_cast<size_t>(std::max<ssize_t>(count, 0)));
  if (count < 0)
    throw std::runtime_error(
        fmt::format("{}: cannot be read after line {}: {}", name_, line_number_, std::strerror(errno)));
  return count > 0;
}

// Moves one line from the buffer to `lines`; false where it holds no whole one.
bool LineStream::take_line(std::vector<std::string>& lines) {
  const size_t end = buffer_.find('\n', position_);
  if (end == std::string::npos && (!ended_ || position_ == buffer_.size())) return false;
  std::string line = buffer_.substr(position_, end == std::string::npos ? end : end - position_);
  position_ = end == std::string::npos ? buffer_.size() : end + 1;
  ++line_number_;
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (const size_t bad = find_invalid_utf8(line); bad != std::string::npos)
    throw std::runtime_error(fmt::format("{}:{}: not valid UTF-8 (byte {} of the line)", name_, line_number_, bad + 1));
  lines.push_back(std::move(line));
  return true;
}

std::vector<std::string> LineStream::next_block(size_t most) {
  std::vector<std::string> lines;
  while (lines.size() < most) {
    if (take_line(lines)) continue;
    if (ended_ || (!lines.empty() && !more_is_waiting())) break;
    ended_ = !fill();
  }
  return lines;
}

BlockSource open_input(const std::string& path) {
  if (path.empty()) {
    auto stream = std::make_shared<LineStream>(STDIN_FILENO, "standard input");
    return [stream](size_t most) { return stream->next_block(most); };
  }
  auto reader = std::make_shared<LineReader>(path);
  return [reader](size_t most) {
    std::vector<std::string> lines;
    for (std::string line; lines.size() < most && reader->next(line);) lines.push_back(line);
    return lines;
  };
}

}  // namespace transmute
