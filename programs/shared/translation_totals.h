// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/programs/shared/cut_lines.h>
#include <transmute/programs/shared/output.h>
#include <transmute/text/types.h>

#include <cstdint>
#include <memory>
#include <string>

namespace transmute {

/// The counts that translate reports at its end, and the file of --warnings.
class TranslationTotals {
 public:
  /// @param source of the model; must outlive this
  /// @param before lines that an earlier run has translated
  /// @param unit what is counted
  /// @param warnings path of a file that gets each warning with its text and translation; empty: none
  TranslationTotals(const TranslationOptions& options, const SubwordModel& source, int64_t before, std::string unit,
                    const std::string& warnings);

  /// The number of all, those before included.
  int64_t lines() const { return before_ + lines_; }
  void add(const std::string& text, const Translation& translation);
  /// Completes the file of warnings, too.
  void report();

 private:
  bool counts_loops_;  // the guard does, and labels of trees may loop
  CutLines cut_lines_;
  LoopingLines looping_lines_;
  SuspiciousLines suspicious_lines_;
  UnknownText unknown_text_;
  LinesWithoutLanguage without_language_;
  int64_t before_;
  int64_t lines_ = 0;
  std::string unit_;
  std::string warnings_path_;
  std::unique_ptr<Output> warnings_;  // null without a path
};

}  // namespace transmute
