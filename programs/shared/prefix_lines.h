// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/text_file.h>
#include <transmute/tokenizer/tokenizer.h>

#include <memory>
#include <string>
#include <vector>

namespace transmute {

/// The lines of --target-prefix: line n is the beginning of the translation of line n of the input. Faults are reported
/// once the lines before are translated.
class PrefixLines {
 public:
  /// @param path empty for no prefixes
  /// @param target the vocabulary that must be able to write them
  PrefixLines(const std::string& path, size_t max_line_bytes, const SubwordModel& target);

  /// The prefixes of the lines of a block, which ends before a line whose prefix is at fault.
  std::vector<std::string> next(std::vector<std::string>& block);
  /// The fault of the line after the last block; empty if it has none.
  const std::string& fault() const { return fault_; }
  /// @throws BadLine if there are more prefixes than lines
  void finish();

 private:
  void read(std::string& prefix);

  std::string fault_;
  std::string path_;
  const SubwordModel& target_;
  std::unique_ptr<LineReader> reader_;
};

}  // namespace transmute
