// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/shared/line_stream.h>

#include <poll.h>
#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/common/progress.h>
#include <transmute/programs/shared/program.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <utility>

namespace transmute {

namespace {

constexpr size_t kReadBytes = 1 << 16;
constexpr const char* kGzipMark = "\x1f\x8b";

void note_zero_bytes(const std::string& name, int64_t line_number, const std::string& line) {
  note(fmt::format("{}:{}: has zero bytes; {}", name, line_number, remedy_of_zero_bytes(line, line_number == 1)));
}

bool has_zero_bytes(const std::string& line) {
  return line.find('\0') != std::string::npos;
}

// LineReader in blocks.
class FileLines {
 public:
  FileLines(const std::string& path, const LineRules& rules) : path_(path), reader_(path, rules) {}

  std::vector<std::string> next_block(size_t most) {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    std::vector<std::string> lines;
    try {
      for (std::string line; lines.size() < most && reader_.next(line);) {
        if (has_zero_bytes(line) && !std::exchange(has_zeros_, true))
          note_zero_bytes(path_, reader_.line_number(), line);
        lines.push_back(line);
      }
    } catch (const std::runtime_error& error) {
      failure_ = std::make_exception_ptr(BadLine(error.what()));
      if (lines.empty()) std::rethrow_exception(std::exchange(failure_, nullptr));
    }
    return lines;
  }

 private:
  std::string path_;
  LineReader reader_;
  bool has_zeros_ = false;
  std::exception_ptr failure_;  // what the next call throws
};

// True if the name `file`, which may be a link to somewhere else, is in the folder or below it.
bool is_within(const std::string& file, const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) return false;
  const fs::path way = fs::relative(fs::absolute(file, ignored).parent_path(), folder, ignored);
  return !way.empty() && *way.begin() != "..";
}

}  // namespace

// Unpacks gzip members one after the other; what follows them is ignored, as by gzip.
class LineStream::Gunzip {
 public:
  Gunzip() {
    constexpr int kGzipFormat = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, kGzipFormat) != Z_OK) throw std::runtime_error("zlib cannot be started");
  }
  ~Gunzip() { inflateEnd(&stream_); }
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  // Appends what `packed` holds; false where it is damaged.
  bool unpack(std::string& packed, std::string& to) {
    stream_.next_in = reinterpret_cast<Bytef*>(packed.data());
    stream_.avail_in = static_cast<uInt>(packed.size());
    do {
      if (is_complete_) {
        if (stream_.avail_in == 0 || *stream_.next_in != static_cast<Bytef>(kGzipMark[0])) return true;
        inflateReset(&stream_);
        is_complete_ = false;
      }
      stream_.next_out = block_.data();
      stream_.avail_out = static_cast<uInt>(block_.size());
      const int code = inflate(&stream_, Z_NO_FLUSH);
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) return false;
      to.append(reinterpret_cast<const char*>(block_.data()), block_.size() - stream_.avail_out);
      is_complete_ = code == Z_STREAM_END;
    } while (stream_.avail_in > 0 || stream_.avail_out == 0);
    return true;
  }
  bool is_complete() const { return is_complete_; }

 private:
  z_stream stream_{};
  bool is_complete_ = false;
  std::array<Bytef, 1 << 16> block_{};
};

LineStream::LineStream(int descriptor, std::string name, const LineRules& rules)
    : descriptor_(descriptor), name_(std::move(name)), rules_(rules) {}

LineStream::~LineStream() = default;

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
  const auto fail = [this](const char* reason) {
    throw BadLine(fmt::format("{}: cannot be read{}: {}", name_, after_line(line_number_), reason));
  };
  std::string bytes(kReadBytes, '\0');
  ssize_t count = -1;
  do {
    count = ::read(descriptor_, bytes.data(), bytes.size());
  } while (count < 0 && errno == EINTR);
  if (count < 0) fail(std::strerror(errno));
  bytes.resize(static_cast<size_t>(count));
  if (!begun_) {
    bytes.insert(0, std::exchange(buffer_, ""));
    if (count > 0 && bytes == std::string(1, kGzipMark[0])) {
      buffer_ = bytes;  // the next byte tells
      return true;
    }
    begun_ = true;
    if (bytes.compare(0, 2, kGzipMark) == 0) gunzip_ = std::make_unique<Gunzip>();
  }
  if (!gunzip_) {
    buffer_ += bytes;
  } else if (count == 0 && !gunzip_->is_complete()) {
    fail("the gzipped text is cut off");
  } else if (!gunzip_->unpack(bytes, buffer_)) {
    fail("the gzipped text is damaged");
  }
  return count > 0;
}

// Moves one line from the buffer to `lines`; false where it holds no whole one.
bool LineStream::take_line(std::vector<std::string>& lines) {
  if (!begun_) return false;
  const size_t end = buffer_.find('\n', searched_);
  searched_ = std::min(end, buffer_.size());
  if (searched_ - position_ > rules_.max_bytes)
    throw BadLine(long_line_message(fmt::format("{}:{}", name_, line_number_ + 1), rules_.max_bytes));
  if (end == std::string::npos && (!ended_ || position_ == buffer_.size())) return false;
  std::string line = buffer_.substr(position_, end == std::string::npos ? end : end - position_);
  position_ = searched_ = end == std::string::npos ? buffer_.size() : end + 1;
  if (++line_number_ == 1) remove_byte_order_mark(line);
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (has_zero_bytes(line)) {
    if (is_utf_16(line))
      throw BadLine(utf_16_message(fmt::format("{}:{}", name_, line_number_), line, line_number_ == 1));
    if (!std::exchange(has_zeros_, true)) note_zero_bytes(name_, line_number_, line);
  }
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
    if (isatty(STDIN_FILENO) != 0) note("reading lines from the terminal; Ctrl-D on an empty line ends them");
    auto stream = std::make_shared<LineStream>(STDIN_FILENO, input_name(path), rules);
    return [stream](size_t most) { return stream->next_block(most); };
  }
  auto file = std::make_shared<FileLines>(path, rules);
  return [file](size_t most) { return file->next_block(most); };
}

std::string input_name(const std::string& path) {
  return is_standard_stream(path) ? "standard input" : path;
}

std::string place_of(const std::string& path) {
  if (is_standard_stream(path)) return "-";
  return std::filesystem::weakly_canonical(std::filesystem::absolute(path)).string();
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

// The name tells. Anything else in the folder of a model may be the output of an earlier run, to be replaced.
bool may_be_of_model(const std::string& file) {
  const std::filesystem::path path(file);
  const std::string name = path.filename().string(), extension = path.extension().string();
  constexpr const char* kExtensions[] = {".safetensors", ".bin",  ".npz",  ".ckpt", ".model",
                                         ".spm",         ".json", ".yaml", ".yml"};
  if (std::find(std::begin(kExtensions), std::end(kExtensions), extension) != std::end(kExtensions)) return true;
  return name == "checksums.txt" || ends_in(name, "_vocabulary.txt") || ends_in(name, "_vocab.txt") ||
         (begins_with(name, "dict.") && extension == ".txt");
}

void check_output_is_no_input(const std::string& output, const std::vector<NamedInput>& inputs,
                              const char* output_flag) {
  namespace fs = std::filesystem;
  if (is_standard_stream(output)) return;
  std::error_code ignored;
  const bool is_folder = fs::is_directory(output, ignored);
  if (!is_folder && !fs::is_regular_file(output, ignored)) return;  // new, or one like /dev/null that keeps nothing
  for (const auto& [flag, path] : inputs) {
    if (is_standard_stream(path)) continue;
    const bool is_input = fs::equivalent(path, output, ignored);
    if (is_input || (!is_folder && may_be_of_model(output) && is_within(output, path)))
      throw std::invalid_argument(fmt::format("{} is {} of {}, which would be lost; give it another name", output_flag,
                                              !is_input   ? "a file in the folder"
                                              : is_folder ? "the folder"
                                                          : "the file",
                                              flag));
  }
}

void check_folder_is_in_no_input(const std::string& output, const std::vector<NamedInput>& inputs,
                                 const char* output_flag) {
  std::error_code ignored;
  const std::filesystem::path place = std::filesystem::weakly_canonical(output, ignored);
  for (const auto& [flag, path] : inputs)
    if (is_within(place, path))
      throw std::invalid_argument(
          fmt::format("{} would be within the folder of {}; name a folder elsewhere", output_flag, flag));
}

std::vector<std::string> next_full_block(const BlockSource& source, size_t most, std::exception_ptr& failure) {
  std::vector<std::string> lines;
  try {
    while (lines.size() < most) {
      std::vector<std::string> more = source(most - lines.size());
      if (more.empty()) break;
      lines.insert(lines.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }
  } catch (const BadLine&) {
    failure = std::current_exception();
  }
  return lines;
}

std::vector<std::string> read_input_lines(const std::string& path, size_t most) {
  std::exception_ptr failure;
  std::vector<std::string> lines = next_full_block(open_input(path), most, failure);
  if (failure) std::rethrow_exception(failure);
  return lines;
}

void check_equal_lines(const std::string& path, size_t lines, const std::string& other_path, size_t other_lines,
                       const char* must) {
  if (lines == other_lines) return;
  throw std::runtime_error(fmt::format("{} has {}, but {} has {}; line n of one must {} line n of the other",
                                       input_name(path), counted(static_cast<int64_t>(lines), "line"),
                                       input_name(other_path), format_count(static_cast<int64_t>(other_lines)), must));
}

void keep_output_before_bad_line(Output& output, const std::function<void()>& work) {
  try {
    work();
  } catch (const BadLine& error) {
    if (output.is_empty()) throw;
    output.finish();
    throw BadLine(std::string(error.what()) + "; the lines before it are written");
  }
}

}  // namespace transmute
