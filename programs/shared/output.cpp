// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/shared/output.h>

#include <transmute/programs/shared/signals.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <utility>

namespace transmute {

namespace {

std::atomic<const char*> interruption{nullptr};  // of the handler of signals

}  // namespace

// Compresses text in chunks.
class Output::Gzip {
 public:
  Gzip() {
    constexpr int kGzipFormat = 16 + MAX_WBITS, kMemory = 8;
    if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipFormat, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::runtime_error("zlib cannot be started");
  }
  ~Gzip() { deflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  void write(std::string_view text, AtomicFile& file, int flush = Z_NO_FLUSH) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // zlib does not write to it
    stream_.avail_in = static_cast<uInt>(text.size());
    do {
      stream_.next_out = block_.data();
      stream_.avail_out = static_cast<uInt>(block_.size());
      deflate(&stream_, flush);
      file.write(block_.data(), block_.size() - stream_.avail_out);
    } while (stream_.avail_out == 0);
  }
  void finish(AtomicFile& file) { write("", file, Z_FINISH); }

 private:
  z_stream stream_{};
  std::array<Bytef, 1 << 16> block_{};
};

// Holds the name of an incomplete file for the handler of signals, which may call little more than unlink().
class Output::RemovedBySignals {
 public:
  explicit RemovedBySignals(std::string path) : path_(std::move(path)) {
    if (path_.empty()) return;
    for (auto& slot : slots()) {
      const char* free = nullptr;
      if (!slot.compare_exchange_strong(free, path_.c_str())) continue;
      slot_ = &slot;
      break;
    }
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) take_over(signal);
  }
  ~RemovedBySignals() {
    if (slot_ != nullptr) *slot_ = nullptr;
  }
  RemovedBySignals(const RemovedBySignals&) = delete;
  RemovedBySignals& operator=(const RemovedBySignals&) = delete;

 private:
  using Slot = std::atomic<const char*>;
  static_assert(Slot::is_always_lock_free);
  static std::array<Slot, 6>& slots() {  // no program has more outputs
    static std::array<Slot, 6> all{};
    return all;
  }
  static void remove_and_end(int signal) {
    for (const Slot& slot : slots())
      if (const char* path = slot) ::unlink(path);
    if (const char* text = interruption) [[maybe_unused]]
      const ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text));
    end_by(signal);
  }
  // Unless the program handles it itself, or was started to ignore it.
  static void take_over(int signal) {
    struct sigaction present {};
    if (sigaction(signal, nullptr, &present) == 0 && present.sa_handler == SIG_DFL) std::signal(signal, remove_and_end);
  }

  std::string path_;
  Slot* slot_ = nullptr;
};

Output::Output(const std::string& path) {
  if (is_standard_stream(path) || path == "/dev/stdout") return;
  const std::string ending = std::filesystem::path(path).extension();
  for (const char* unwritten : {".xz", ".zst", ".bz2"})
    if (ending == unwritten)
      throw std::invalid_argument(path + ": only .gz is written; write a plain file and compress it afterwards");
  file_ = std::make_unique<AtomicFile>(path);
  removed_ = std::make_unique<RemovedBySignals>(file_->partial_path());
  if (ending == ".gz") gzip_ = std::make_unique<Gzip>();
}

Output::~Output() = default;

void Output::write(std::string_view text) {
  is_empty_ = is_empty_ && text.empty();
  if (gzip_) {
    gzip_->write(text, *file_);
  } else if (file_) {
    file_->write(text.data(), text.size());
  } else if (!std::cout.write(text.data(), static_cast<std::streamsize>(text.size())).flush()) {
    throw std::runtime_error(kUnwritableStandardOutput);
  }
}

void Output::finish() {
  if (gzip_) gzip_->finish(*file_);
  if (!file_) return;
  file_->commit();
  removed_.reset();
}

void say_on_interruption(const std::string& text) {
  static std::string said;
  interruption = nullptr;
  said = text;
  if (!said.empty()) interruption = said.c_str();
}

bool is_standard_stream(const std::string& path) {
  return path.empty() || path == "-";
}

}  // namespace transmute
