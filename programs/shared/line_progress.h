// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/progress.h>
#include <transmute/common/stopwatch.h>
#include <transmute/programs/shared/stream_flags.h>

#include <cstdint>
#include <string>

namespace transmute {

/// True if the line can be seen, and the results do not go to the terminal too.
bool may_show(const ProgressLine& line, const std::string& output);

/// A line on standard error that says how far a program is; nothing if results go to the terminal too.
class LineProgress {
 public:
  /// @param before lines that an earlier run has finished, which do not count for the speed
  LineProgress(const StreamFlags& streams, int64_t before);

  /// @param done lines in all
  void show(int64_t done);
  void clear() { line_.clear(); }

 private:
  ProgressLine line_;
  bool shown_;
  int64_t before_;
  int64_t lines_ = 0;  // lines of the input, where that is known
  Stopwatch clock_;
};

}  // namespace transmute
