// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/line_stream.h>

#include <poll.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace transmute {

namespace {
constexpr size_t kReadBytes = 1 << 16;
}

LineStream::LineStream(int descriptor, std::string name, size_t max_line_bytes)
    : descriptor_(descriptor), name_(std::move(name)), max_line_bytes_(max_line_bytes) {}

bool LineStream::more_is_waiting() const {
  pollfd waiting{descriptor_, POLLIN, 0};
  return poll(&waiting, 1, 0) == 1;
}

// Waits for more bytes; false at the end.
bool LineStream::fill() {
  buffer_.erase(0, position_);
  searched_ -= position_;
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
  const size_t end = buffer_.find('\n', searched_);
  searched_ = std::min(end, buffer_.size());
  if (searched_ - position_ > max_line_bytes_)
    refuse_long_line(fmt::format("{}:{}", name_, line_number_ + 1), max_line_bytes_);
  if (end == std::string::npos && (!ended_ || position_ == buffer_.size())) return false;
  std::string line = buffer_.substr(position_, end == std::string::npos ? end : end - position_);
  position_ = searched_ = end == std::string::npos ? buffer_.size() : end + 1;
  if (++line_number_ == 1) remove_byte_order_mark(line);
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

BlockSource open_input(const std::string& path, size_t max_line_bytes) {
  if (path.empty()) {
    auto stream = std::make_shared<LineStream>(STDIN_FILENO, "standard input", max_line_bytes);
    return [stream](size_t most) { return stream->next_block(most); };
  }
  auto reader = std::make_shared<LineReader>(path, max_line_bytes);
  return [reader](size_t most) {
    std::vector<std::string> lines;
    for (std::string line; lines.size() < most && reader->next(line);) lines.push_back(line);
    return lines;
  };
}

void add_line_limit(CLI::App& app, size_t& max_line_bytes) {
  app.add_option("--max-line-bytes", max_line_bytes, "a longer line ends the program: it is hardly a text")
      ->check(CLI::Range(size_t{1}, size_t{1} << 30))
      ->capture_default_str();
}

}  // namespace transmute
