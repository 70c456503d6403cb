// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/output.h>

#include <zlib.h>

#include <array>
#include <filesystem>
#include <iostream>
#include <stdexcept>

namespace transmute {

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

  void write(const std::string& text, AtomicFile& file, int flush = Z_NO_FLUSH) {
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

Output::Output(const std::string& path) {
  if (is_standard_stream(path)) return;
  file_ = std::make_unique<AtomicFile>(path);
  if (std::filesystem::path(path).extension() == ".gz") gzip_ = std::make_unique<Gzip>();
}

Output::~Output() = default;

void Output::write(const std::string& text) {
  if (gzip_) {
    gzip_->write(text, *file_);
  } else if (file_) {
    file_->write(text.data(), text.size());
  } else if (!std::cout.write(text.data(), static_cast<std::streamsize>(text.size())).flush()) {
    throw std::runtime_error("standard output cannot be written to (is the disk full?)");
  }
}

void Output::finish() {
  if (gzip_) gzip_->finish(*file_);
  if (file_) file_->commit();
}

bool is_standard_stream(const std::string& path) {
  return path.empty() || path == "-";
}

}  // namespace transmute
