// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/stopwatch.h>
#include <transmute/programs/shared/line_stream.h>
#include <transmute/programs/shared/output.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace transmute {

/// The facts on which results depend apart from the input's lines: the version and instruction set, the flags that
/// are given, and the content of the files and models that flags name. Flags that change speed alone are left out.
/// Nothing without --output.
std::vector<std::string> run_facts(const CLI::App& app);

/// The output of a program that turns lines into results, which may take hours: what is finished survives whatever ends
/// the program. Until an output file is complete, its lines are in FILE.partial, uncompressed. Beside it,
/// FILE.partial.state tells how far the work has come and the facts that it depends on.
class LineOutput {
 public:
  /// @param path empty or "-" for standard output, which keeps no partial file, as devices and pipes do not
  /// @param facts run_facts()
  /// @param resumes continue what FILE.partial has
  /// @param resuming_command what to run after an interruption, for messages
  /// @throws std::invalid_argument if `resumes` has no file to continue; std::runtime_error if the facts have changed,
  /// if another process is at work on the file, or if FILE.partial is something else
  LineOutput(const std::string& path, std::vector<std::string> facts, bool resumes,
             std::string resuming_command = "the same command with --continue");
  ~LineOutput();
  LineOutput(const LineOutput&) = delete;
  LineOutput& operator=(const LineOutput&) = delete;

  /// The input lines whose results an earlier run has written.
  int64_t finished_lines() const { return finished_lines_; }
  /// Reads these lines again. `also` is called for each block, which is not empty.
  /// @throws std::runtime_error if the input begins with other lines than it did then
  void skip_finished(const BlockSource& next_block, const std::function<void(std::vector<std::string>&)>& also = {});

  /// The lines to read for the next block, at most `most`: as many as take a minute, so that little is lost where a
  /// line takes seconds.
  size_t next_block_lines(int64_t most) const;
  /// Writes the results of the first `count` of these input lines.
  void write(const std::string& text, const std::vector<std::string>& lines, size_t count);
  /// Gives the file its name, or compresses it, and removes the partial one.
  void finish();
  /// Runs `work` and finishes. If a bad line of the input ends it, the results before that line become the output, as
  /// the exception then says. If another error does, or an earlier run had finished more lines, what is finished stays
  /// in the partial file, as standard error then says. An older output stays if no line is finished.
  void finish_after(const std::function<void()>& work);

 private:
  void resume();
  void begin_partial();
  void write_state();
  void remove_partial() const;
  void note_earlier_run() const;
  bool has_partial_lines() const { return partial_fd_ >= 0 && lines_ + finished_lines_ > 0; }
  std::string kept_lines() const;

  std::string path_;
  Output output_;
  std::vector<std::string> facts_;
  std::string resuming_command_;
  std::string partial_;  // its path; empty if there is none
  int partial_fd_ = -1, state_fd_ = -1;
  int64_t finished_lines_ = 0, lines_ = 0;  // lines of an earlier run; lines in all
  uint64_t bytes_ = 0;                      // bytes of the partial file
  uint64_t input_ = 0;                      // hash of the lines
  Stopwatch clock_;                         // of the work on the other lines
};

}  // namespace transmute
