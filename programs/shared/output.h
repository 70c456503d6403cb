// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/files.h>

#include <memory>
#include <string>
#include <string_view>

namespace transmute {

/// The message of programs where standard output takes nothing more.
constexpr const char* kUnwritableStandardOutput = "standard output cannot be written to (is the disk full?)";

/// The destination of a program's results: standard output, or a file that gets its name when it is complete. A file
/// whose name ends in .gz is compressed. SIGINT, SIGTERM and SIGHUP remove an incomplete file before they end the
/// process.
class Output {
 public:
  /// @param path empty or "-" for standard output
  /// @throws std::invalid_argument for a name with the ending of another packer, such as .zst
  explicit Output(const std::string& path = "");
  ~Output();
  /// Flushes if this is standard output.
  /// @throws std::runtime_error if it cannot be written.
  void write(std::string_view text);
  /// Gives the file its name. A file without it is removed.
  void finish();
  /// True for a file, false for standard output, a device or a pipe.
  bool is_file() const { return file_ != nullptr && !file_->partial_path().empty(); }
  /// True if no text was written.
  bool is_empty() const { return is_empty_; }

 private:
  class Gzip;
  class RemovedBySignals;

  bool is_empty_ = true;
  std::unique_ptr<AtomicFile> file_;
  std::unique_ptr<RemovedBySignals> removed_;
  std::unique_ptr<Gzip> gzip_;
};

/// The message of SIGINT, SIGTERM and SIGHUP on standard error while an Output is incomplete; empty: nothing.
void say_on_interruption(const std::string& text);

/// True if `path` means standard input or output: empty, or "-".
bool is_standard_stream(const std::string& path);

}  // namespace transmute
