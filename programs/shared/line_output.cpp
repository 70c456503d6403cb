// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/shared/line_output.h>

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <transmute/common/files.h>
#include <transmute/common/hash.h>
#include <transmute/common/progress.h>
#include <transmute/formats/model_store.h>
#include <transmute/programs/shared/program.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace transmute {

namespace fs = std::filesystem;

namespace {

constexpr const char* kStateFormat = "transmute partial output 1: lines %ld bytes %lu input %lx";

// The contents of a state file.
struct PartialState {
  int64_t lines = 0;
  uint64_t bytes = 0, input = 0;
  std::vector<std::string> facts;
};

// The first line has a fixed length, so that one write replaces it.
std::string text_of(const PartialState& state) {
  return fmt::format("transmute partial output 1: lines {:020d} bytes {:020d} input {:016x}\n{}\n", state.lines,
                     state.bytes, state.input, fmt::join(state.facts, "\n"));
}

// The partial file is beside the output. Where the output's name is too long for that, it has as much of the name as
// fits, and a hash of all.
std::string partial_path(const std::string& output) {
  constexpr size_t kEndingBytes = std::string_view(".partial.state").size(), kHashBytes = 17;
  fs::path path(output);
  std::string name = path.filename().string();
  if (name.size() > NAME_MAX - kEndingBytes)
    name = fmt::format("{}-{:016x}", shortened_name(name, NAME_MAX - kEndingBytes - kHashBytes), hash_text(name));
  return path.replace_filename(name + ".partial").string();
}

std::string state_path(const std::string& partial) {
  return partial + ".state";
}

// False if there is none, or it is something else.
bool read_state(const std::string& partial, PartialState& state) {
  std::error_code ignored;
  if (!fs::is_regular_file(state_path(partial), ignored)) return false;
  constexpr uint64_t kMostBytes = 16 << 20;
  std::istringstream text(read_regular_file(state_path(partial), kMostBytes));
  std::string line;
  std::getline(text, line);
  if (std::sscanf(line.c_str(), kStateFormat, &state.lines, &state.bytes, &state.input) != 3) return false;
  while (std::getline(text, line)) state.facts.push_back(line);
  return state.lines >= 0;
}

[[noreturn]] void refuse_foreign(const std::string& partial) {
  throw std::runtime_error(fmt::format("{}: is not the unfinished output of an earlier run; move it", partial));
}

[[noreturn]] void refuse_partial(const std::string& path, const char* what) {
  throw std::runtime_error(fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}

void write_all(int fd, const std::string& path, std::string_view bytes, off_t at) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd, bytes.data(), bytes.size(), at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) refuse_partial(path, errno == ENOSPC ? "cannot be written; free some space" : "cannot be written");
    bytes.remove_prefix(static_cast<size_t>(written));
    at += written;
  }
}

// Locks the file. -1 if it cannot be opened.
int open_locked(const std::string& path, int flags, mode_t mode) {
  const int fd = ::open(path.c_str(), flags | O_RDWR | O_NOFOLLOW | O_CLOEXEC, mode);
  if (fd < 0 || ::flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return fd;
  ::close(fd);
  throw std::runtime_error(path + ": another process is writing it; wait for it, or choose another output");
}

// Throws if another process is at work on the file.
void check_is_idle(const std::string& path) {
  if (const int fd = open_locked(path, 0, 0); fd >= 0) ::close(fd);
}

// It must be neither a link nor another user's file.
int open_own(const std::string& path, bool is_new, mode_t mode) {
  std::error_code ignored;
  if (is_new) {
    check_is_idle(path);
    fs::remove(path, ignored);
  }
  const int fd = open_locked(path, is_new ? O_CREAT | O_EXCL : 0, mode);
  if (fd < 0) refuse_partial(path, "cannot be written");
  return fd;
}

// The beginning of a file's content, which is read in no time; of larger ones, their size and when they were written.
std::string fingerprint_of(const fs::path& path) {
  constexpr uintmax_t kCheapBytes = 16 << 20;
  const uintmax_t bytes = fs::file_size(path);
  if (bytes <= kCheapBytes) return fmt::format("{:016x}", hash_file(path.string()));
  return fmt::format("{}@{}", bytes, fs::last_write_time(path).time_since_epoch().count());
}

// Outputs and logs may come into a model's folder while a run is at work; those in JSON and YAML count as the model's.
// A .pt may be a checkpoint.
bool counts_in_folder(const fs::path& file) {
  return may_be_of_model(file.string()) || file.extension() == ".pt";
}

// The content of a file, or of the model's files in a folder; empty for a pipe, or what is not there.
std::string content_of(const std::string& path) {
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) return " " + fingerprint_of(path);
  std::vector<std::string> files;
  for (fs::directory_iterator entry(path, ignored), end; entry != end; entry.increment(ignored))
    if (entry->is_regular_file(ignored) && counts_in_folder(entry->path()))
      files.push_back(entry->path().filename().string() + " " + fingerprint_of(entry->path()));
  std::sort(files.begin(), files.end());
  const std::string all = fmt::format("{}", fmt::join(files, "\n"));
  return all.empty() ? "" : fmt::format(" {:016x}", hash_text(all));
}

// The same for what an option's value names; empty if it names no file.
std::string content_of(const CLI::Option& option, const std::string& value) {
  const std::string type = option.get_type_name();
  if (type == "MODEL") return content_of(model_path(value));
  return type == "FILE" || type == "FOLDER" ? content_of(value) : "";
}

}  // namespace

std::vector<std::string> run_facts(const CLI::App& app) {
  static const std::vector<std::string> kWithoutEffect{"--input",        "--output",     "--continue",
                                                       "--threads",      "--batch-size", "--batch-tokens",
                                                       "--buffer-lines", "--warnings"};
  std::vector<std::string> facts;
  if (app.get_option("--output")->count() == 0) return facts;
  std::istringstream version(version_text("transmute"));
  for (std::string line; std::getline(version, line);) facts.push_back(line);
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || std::count(kWithoutEffect.begin(), kWithoutEffect.end(), name) > 0) continue;
    for (const std::string& value : option->results())
      facts.push_back(without_control(name + " " + value) + content_of(*option, value));
  }
  return facts;
}

LineOutput::LineOutput(const std::string& path, std::vector<std::string> facts, bool resumes,
                       std::string resuming_command)
    : path_(path), output_(path), facts_(std::move(facts)), resuming_command_(std::move(resuming_command)) {
  if (output_.is_file()) partial_ = partial_path(path);
  if (resumes && partial_.empty())
    throw std::invalid_argument("--continue needs the --output file that an earlier run has begun");
  std::error_code ignored;
  if (partial_.empty()) return;
  if (fs::exists(fs::symlink_status(partial_, ignored))) {
    resumes ? resume() : note_earlier_run();
  } else if (resumes) {
    note(fmt::format("{} is not there, so there is nothing to continue; starting at the beginning", partial_));
  }
}

LineOutput::~LineOutput() {
  if (partial_fd_ >= 0 && !has_partial_lines()) remove_partial();
  if (partial_fd_ >= 0) ::close(partial_fd_);
  if (state_fd_ >= 0) ::close(state_fd_);
  say_on_interruption("");
}

void LineOutput::remove_partial() const {
  ::unlink(partial_.c_str());
  ::unlink(state_path(partial_).c_str());
}

void LineOutput::note_earlier_run() const {
  PartialState state;
  if (!read_state(partial_, state)) refuse_foreign(partial_);
  check_is_idle(partial_);
  if (state.facts == facts_ && state.lines > 0)
    note(fmt::format("{} has the results of {} from an earlier run, which --continue would keep; starting over",
                     partial_, counted(state.lines, "line")));
}

void LineOutput::resume() {
  PartialState state;
  if (!read_state(partial_, state)) refuse_foreign(partial_);
  const auto [then, now] = std::mismatch(state.facts.begin(), state.facts.end(), facts_.begin(), facts_.end());
  if (then != state.facts.end() || now != facts_.end())
    throw std::runtime_error(fmt::format(
        "{}: the earlier run had other settings: '{}' then, '{}' now. Run it with the same model and flags, "
        "or start over without --continue",
        partial_, then == state.facts.end() ? "nothing" : *then, now == facts_.end() ? "nothing" : *now));
  partial_fd_ = open_own(partial_, false, 0);
  state_fd_ = open_own(state_path(partial_), false, 0);
  struct stat status = {};
  if (::fstat(partial_fd_, &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<uint64_t>(status.st_size) < state.bytes)
    throw std::runtime_error(
        fmt::format("{}: is shorter than the earlier run left it; start over without --continue", partial_));
  finished_lines_ = state.lines;
  bytes_ = state.bytes;
  input_ = state.input;
}

void LineOutput::skip_finished(const BlockSource& next_block,
                               const std::function<void(std::vector<std::string>&)>& also) {
  constexpr size_t kMost = 4096;
  uint64_t hash = 0;
  while (lines_ < finished_lines_) {
    const auto left = static_cast<size_t>(finished_lines_ - lines_);
    std::vector<std::string> lines = next_block(std::min(left, kMost));
    if (lines.empty()) break;
    for (const std::string& line : lines) hash = hash_text(line, hash);
    if (also) also(lines);
    lines_ += static_cast<int64_t>(lines.size());
  }
  if (hash != input_ || lines_ != finished_lines_)
    throw std::runtime_error(fmt::format(
        "{}: the input does not begin with the {} that the earlier run read; run it with the same input, or "
        "start over without --continue",
        partial_, counted(finished_lines_, "line")));
  if (finished_lines_ > 0) note(fmt::format("continuing after {}", counted(finished_lines_, "line")));
  clock_ = Stopwatch();
}

size_t LineOutput::next_block_lines(int64_t most) const {
  constexpr int64_t kFirst = 1000, kLeast = 64;
  constexpr double kSeconds = 60;
  if (partial_.empty()) return static_cast<size_t>(most);
  const double lines_a_minute =
      static_cast<double>(lines_ - finished_lines_) / std::max(clock_.seconds(), 1e-3) * kSeconds;
  const int64_t wanted =
      lines_ == finished_lines_ ? kFirst : std::max(kLeast, static_cast<int64_t>(std::min(lines_a_minute, 1e9)));
  return static_cast<size_t>(std::min(wanted, most));
}

void LineOutput::begin_partial() {
  if (partial_fd_ < 0) {
    struct stat old = {};
    const bool exists = ::stat(path_.c_str(), &old) == 0;
    partial_fd_ = open_own(partial_, true, 0666);
    if (exists) ::fchmod(partial_fd_, old.st_mode & 0777);
    state_fd_ = open_own(state_path(partial_), true, 0666);
    write_all(state_fd_, state_path(partial_), text_of({0, 0, 0, facts_}), 0);
  } else if (::ftruncate(partial_fd_, static_cast<off_t>(bytes_)) != 0) {
    refuse_partial(partial_, "cannot be written");
  }
  say_on_interruption(fmt::format("\n{}: stopped; {}\n", program_name(), without_control(kept_lines())));
}

void LineOutput::write_state() {
  const std::string text = text_of({lines_, bytes_, input_, {}});
  write_all(state_fd_, state_path(partial_), std::string_view(text).substr(0, text.find('\n')), 0);
}

void LineOutput::write(const std::string& text, const std::vector<std::string>& lines, size_t count) {
  if (partial_.empty()) return output_.write(text);
  if (count == 0) return;
  if (lines_ == finished_lines_) begin_partial();
  write_all(partial_fd_, partial_, text, static_cast<off_t>(bytes_));
  bytes_ += text.size();
  for (size_t i = 0; i < count; ++i) input_ = hash_text(lines[i], input_);
  lines_ += static_cast<int64_t>(count);
  write_state();
}

void LineOutput::finish() {
  if (partial_fd_ >= 0) {
    std::string block(1 << 20, '\0');
    for (uint64_t at = 0; at < bytes_;) {
      const ssize_t count =
          ::pread(partial_fd_, block.data(), std::min<uint64_t>(block.size(), bytes_ - at), static_cast<off_t>(at));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) refuse_partial(partial_, "cannot be read");
      output_.write(block.substr(0, static_cast<size_t>(count)));
      at += static_cast<uint64_t>(count);
    }
  }
  output_.finish();
  if (partial_fd_ < 0) return;
  remove_partial();
  ::close(std::exchange(partial_fd_, -1));
  say_on_interruption("");
}

std::string LineOutput::kept_lines() const {
  return fmt::format("what is finished is in {}; {} resumes from there", partial_, resuming_command_);
}

void LineOutput::finish_after(const std::function<void()>& work) {
  try {
    try {
      work();
    } catch (const BadLine& error) {
      // The lines before it are fewer than an earlier run has finished, or none.
      if (lines_ < finished_lines_ || (lines_ == 0 && output_.is_empty())) throw;
      finish();
      throw BadLine(std::string(error.what()) + "; the lines before it are written");
    }
    finish();
  } catch (...) {
    if (has_partial_lines()) note(kept_lines());
    throw;
  }
}

}  // namespace transmute
