// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/text_file.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace transmute {

/// Lines of an open file descriptor (a pipe, a terminal, a file), handed out as they come: someone who types a line
/// gets it answered, a file comes in large blocks.
class LineStream {
 public:
  /// @param name what messages call it
  /// @param max_line_bytes a longer line is an error
  LineStream(int descriptor, std::string name, size_t max_line_bytes = kMaxLineBytes);

  /// At least one line, and what else has already arrived, up to `most` lines; nothing at the end. Lines are as
  /// LineReader's.
  /// @throws std::runtime_error for a line that is not UTF-8 or too long, or where reading fails.
  std::vector<std::string> next_block(size_t most);

 private:
  bool fill();
  bool more_is_waiting() const;
  bool take_line(std::vector<std::string>& lines);

  int descriptor_;
  std::string name_;
  size_t max_line_bytes_;
  std::string buffer_;
  size_t position_ = 0;
  size_t searched_ = 0;  // no line end lies before
  int64_t line_number_ = 0;
  bool ended_ = false;
};

/// Gives up to so many lines, at least one; none at the end.
using BlockSource = std::function<std::vector<std::string>(size_t most)>;

/// The lines of a file, plain or gzipped, or, where `path` is empty, of standard input as they come.
BlockSource open_input(const std::string& path, size_t max_line_bytes = kMaxLineBytes);

/// The flag for what open_input takes.
void add_line_limit(CLI::App& app, size_t& max_line_bytes);

}  // namespace transmute
