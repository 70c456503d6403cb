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
#include <utility>

namespace transmute {

namespace {

constexpr size_t kReadBytes = 1 << 16;

// LineReader in blocks.
class FileLines {
 public:
  FileLines(const std::string& path, const LineRules& rules) : reader_(path, rules) {}

  std::vector<std::string> next_block(size_t most) {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    std::vector<std::string> lines;
    try {
      for (std::string line; lines.size() < most && reader_.next(line);) lines.push_back(line);
    } catch (const std::runtime_error& error) {
      failure_ = std::make_exception_ptr(BadLine(error.what()));
      if (lines.empty()) std::rethrow_exception(std::exchange(failure_, nullptr));
    }
    return lines;
  }

 private:
  LineReader reader_;
  std::exception_ptr failure_;  // of the next call
};

}  // namespace

LineStream::LineStream(int descriptor, std::string name, const LineRules& rules)
    : descriptor_(descriptor), name_(std::move(name)), rules_(rules) {}

bool LineStream::more_is_waiting() const {
  constexpr int kMilliseconds = 10;  // a program that writes to the pipe needs a moment to fill it again
  pollfd waiting{descriptor_, POLLIN, 0};
  return poll(&waiting, 1, kMilliseconds) == 1;
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
    throw BadLine(fmt::format("{}: cannot be read{}: {}", name_, after_line(line_number_), std::strerror(errno)));
  return count > 0;
}

// Moves one line from the buffer to `lines`; false where it holds no whole one.
bool LineStream::take_line(std::vector<std::string>& lines) {
  const size_t end = buffer_.find('\n', searched_);
  searched_ = std::min(end, buffer_.size());
  if (searched_ - position_ > rules_.max_bytes)
    throw BadLine(long_line_message(fmt::format("{}:{}", name_, line_number_ + 1), rules_.max_bytes));
  if (end == std::string::npos && (!ended_ || position_ == buffer_.size())) return false;
  std::string line = buffer_.substr(position_, end == std::string::npos ? end : end - position_);
  position_ = searched_ = end == std::string::npos ? buffer_.size() : end + 1;
  if (++line_number_ == 1) remove_byte_order_mark(line);
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (rules_.invalid == InvalidUtf8::replace) line = with_valid_utf8(std::move(line));
  if (const size_t bad = find_invalid_utf8(line); bad != std::string::npos)
    throw BadLine(invalid_utf8_message(fmt::format("{}:{}", name_, line_number_), line, bad, line_number_ == 1));
  lines.push_back(std::move(line));
  return true;
}

std::vector<std::string> LineStream::next_block(size_t most) {
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  std::vector<std::string> lines;
  try {
    while (lines.size() < most) {
      if (take_line(lines)) continue;
      if (ended_ || (!lines.empty() && !more_is_waiting())) break;
      ended_ = !fill();
    }
  } catch (const BadLine&) {
    if (lines.empty()) throw;
    failure_ = std::current_exception();
  }
  return lines;
}

BlockSource open_input(const std::string& path, const LineRules& rules) {
  if (is_standard_stream(path)) {
    auto stream = std::make_shared<LineStream>(STDIN_FILENO, input_name(path), rules);
    return [stream](size_t most) { return stream->next_block(most); };
  }
  auto file = std::make_shared<FileLines>(path, rules);
  return [file](size_t most) { return file->next_block(most); };
}

std::string input_name(const std::string& path) {
  return is_standard_stream(path) ? "standard input" : path;
}

void check_standard_input_once(const std::vector<NamedInput>& inputs) {
  const char* first = nullptr;
  for (const auto& [flag, path] : inputs) {
    if (path != "-") continue;
    if (first != nullptr)
      throw std::invalid_argument(
          fmt::format("{} and {} both read standard input; give one of them a file", first, flag));
    first = flag;
  }
}

std::vector<std::string> next_full_block(const BlockSource& source, size_t most) {
  std::vector<std::string> lines;
  while (lines.size() < most) {
    std::vector<std::string> more = source(most - lines.size());
    if (more.empty()) break;
    lines.insert(lines.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  return lines;
}

std::vector<std::string> read_all_lines(const std::string& path) {
  return next_full_block(open_input(path), static_cast<size_t>(-1));
}

void keep_output_before_bad_line(Output& output, const std::function<void()>& work) {
  try {
    work();
  } catch (const BadLine& error) {
    output.finish();
    throw BadLine(std::string(error.what()) + "; the lines before it are written");
  }
}

}  // namespace transmute
