// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/shared/line_stream.h>

#include <fcntl.h>
#include <poll.h>
#include <spdlog/fmt/fmt.h>
#include <transmute/common/files.h>
#include <transmute/common/packers.h>
#include <transmute/common/progress.h>
#include <transmute/programs/shared/program.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace transmute {

namespace {

// Bytes of an open file descriptor as they come. Gzip members are recognized by their first bytes and unpacked one
// after the other; what follows them is ignored, as by gzip.
class ArrivingBytes : public ByteReader {
 public:
  ArrivingBytes(int descriptor, std::string name, BeginningCheck check)
      : descriptor_(descriptor), name_(std::move(name)), check_(std::move(check)) {}
  ~ArrivingBytes() override {
    if (is_gzipped_) inflateEnd(&stream_);
  }
  ArrivingBytes(const ArrivingBytes&) = delete;
  ArrivingBytes& operator=(const ArrivingBytes&) = delete;

  size_t read(void* to, size_t count) override {
    if (!error_.empty()) return 0;
    if (!std::exchange(is_begun_, true)) begin();
    if (is_gzipped_) return unpack(to, count);
    if (block_.empty()) receive();
    const size_t size = std::min(count, block_.size());
    std::memcpy(to, block_.data(), size);
    block_.erase(0, size);
    return size;
  }

 private:
  static constexpr size_t kBlockBytes = 1 << 16;
  static constexpr std::string_view kGzipMark = "\x1f\x8b";

  // Appends to the block; false at the end and after a failure.
  bool receive() {
    if (is_ended_) return false;  // a terminal would wait for another end of input
    const size_t before = block_.size();
    block_.resize(before + kBlockBytes);
    ssize_t count = -1;
    do {
      count = ::read(descriptor_, block_.data() + before, kBlockBytes);
    } while (count < 0 && errno == EINTR);
    if (count < 0) error_ = std::strerror(errno);
    block_.resize(before + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    is_ended_ = count <= 0;
    return !is_ended_;
  }

  void begin() {
    while (block_.size() < kPackerMarkBytes && block_.find('\n') == std::string::npos && receive()) {
    }
    if (check_) check_(block_);
    check_not_packed(name_, block_);
    if (block_.compare(0, kGzipMark.size(), kGzipMark) != 0) return;
    constexpr int kGzipFormat = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, kGzipFormat) != Z_OK) throw std::runtime_error("zlib cannot be started");
    is_gzipped_ = true;
    offer_block();
  }

  void offer_block() {
    stream_.next_in = reinterpret_cast<Bytef*>(block_.data());
    stream_.avail_in = static_cast<uInt>(block_.size());
  }

  // Makes sure that there are packed bytes; false at the end and after a failure.
  bool has_packed() {
    if (stream_.avail_in > 0) return true;
    block_.clear();
    const bool has_more = receive();
    offer_block();
    return has_more;
  }

  size_t unpack(void* to, size_t count) {
    stream_.next_out = static_cast<Bytef*>(to);
    stream_.avail_out = static_cast<uInt>(count);
    while (stream_.avail_out == count && error_.empty()) {
      if (is_complete_) {
        if (!has_packed() || *stream_.next_in != static_cast<Bytef>(kGzipMark[0])) return 0;
        inflateReset(&stream_);
      }
      const int code = inflate(&stream_, Z_NO_FLUSH);
      is_complete_ = code == Z_STREAM_END;
      if (code == Z_BUF_ERROR) {  // zlib needs more packed bytes
        if (!has_packed() && error_.empty()) error_ = "the gzipped text is cut off";
      } else if (code != Z_OK && !is_complete_) {
        error_ = "the gzipped text is damaged";
      }
    }
    return count - stream_.avail_out;
  }

  int descriptor_;
  std::string name_;
  BeginningCheck check_;
  std::string block_;
  z_stream stream_{};
  bool is_begun_ = false, is_ended_ = false, is_gzipped_ = false;
  bool is_complete_ = false;  // the gzip member has ended
};

// Lines of a LineReader, in blocks.
class BlockLines {
 public:
  // `descriptor`: where the bytes come from if they may come late, else -1.
  BlockLines(std::unique_ptr<ByteReader> bytes, int descriptor, const std::string& name, const LineRules& rules)
      : name_(name), reader_(std::move(bytes), name, rules), descriptor_(descriptor) {}

  std::vector<std::string> next_block(size_t most) {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    std::vector<std::string> lines;
    try {
      for (std::string line; lines.size() < most && (lines.empty() || is_there()) && reader_.next(line);) {
        if (line.find('\0') != std::string::npos && !std::exchange(has_zeros_, true)) note_zero_bytes(line);
        lines.push_back(line);
      }
    } catch (const std::runtime_error& error) {
      failure_ = std::make_exception_ptr(BadLine(error.what()));
      if (lines.empty()) std::rethrow_exception(std::exchange(failure_, nullptr));
    }
    return lines;
  }

 private:
  // Reads what has arrived; true if the next line has, or the end.
  bool is_there() {
    while (!reader_.is_ready()) {
      if (!more_is_waiting()) return false;
      reader_.fill();
    }
    return true;
  }

  bool more_is_waiting() const {
    constexpr int kMilliseconds = 10;  // gives a program that writes to the pipe a moment to fill it again
    pollfd waiting{descriptor_, POLLIN, 0};
    return descriptor_ < 0 || poll(&waiting, 1, kMilliseconds) == 1;
  }

  void note_zero_bytes(const std::string& line) const {
    const int64_t number = reader_.line_number();
    note(fmt::format("{}:{}: has zero bytes; {}", name_, number, remedy_of_zero_bytes(line, number == 1)));
  }

  std::string name_;
  LineReader reader_;
  int descriptor_;
  bool has_zeros_ = false;      // whether the zeros were reported
  std::exception_ptr failure_;  // thrown by the next call
};

BlockSource blocks_of(std::unique_ptr<ByteReader> bytes, int descriptor, const std::string& name,
                      const LineRules& rules) {
  auto lines = std::make_shared<BlockLines>(std::move(bytes), descriptor, name, rules);
  return [lines](size_t most) { return lines->next_block(most); };
}

// True for a pipe, such as the shell makes of <(command), or a device.
bool is_stream(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

// True if the name `file`, which may be a link to somewhere else, is in the folder or below it.
bool is_within(const std::string& file, const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) return false;
  const fs::path way = fs::relative(fs::absolute(file, ignored).parent_path(), folder, ignored);
  return !way.empty() && *way.begin() != "..";
}

}  // namespace

BlockSource arriving_lines(int descriptor, const std::string& name, const LineRules& rules,
                           const BeginningCheck& check) {
  return blocks_of(std::make_unique<ArrivingBytes>(descriptor, name, check), descriptor, name, rules);
}

BlockSource open_input(const std::string& path, const LineRules& rules, const BeginningCheck& check) {
  if (is_stream(path)) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) throw std::runtime_error(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
    const std::shared_ptr<void> opened(nullptr, [descriptor](void*) { close(descriptor); });
    return [opened, lines = arriving_lines(descriptor, path, rules, check)](size_t most) { return lines(most); };
  }
  if (!is_standard_stream(path)) return blocks_of(std::make_unique<ByteSource>(path), -1, path, rules);
  if (isatty(STDIN_FILENO) != 0) note("reading lines from the terminal; Ctrl-D on an empty line ends them");
  return arriving_lines(STDIN_FILENO, input_name(path), rules, check);
}

std::string input_name(const std::string& path) {
  return is_standard_stream(path) ? "standard input" : path;
}

std::string place_of(const std::string& path) {
  if (is_standard_stream(path)) return "-";
  const std::filesystem::path absolute = std::filesystem::absolute(path);
  std::error_code is_no_file;  // a pipe such as /dev/fd/63 leads to no name
  const std::filesystem::path place = std::filesystem::weakly_canonical(absolute, is_no_file);
  return (is_no_file ? absolute : place).string();
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
