// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/types.h>
#include <transmute/tokenizer/tokenizer.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace transmute {

/// Counts the lines that were cut into parts because of their length, with the reason.
class CutLines {
 public:
  /// @param most_tokens the limit that the user set, --max-source-tokens; the model's may be lower
  explicit CutLines(int64_t most_tokens) : most_tokens_(most_tokens) {}

  /// A line of so many tokens, which were taken in so many parts.
  void add(int parts, size_t tokens);
  int64_t count() const { return count_; }
  /// The reason in words, for example "had over 256 tokens".
  std::string reason() const;

 private:
  int64_t most_tokens_;
  int64_t count_ = 0;
  bool positions_are_fewer_ = false;
};

/// Counts the lines whose result repeats the same words over and over where the line itself does not.
class LoopingLines {
 public:
  void add(const Translation& result);
  /// Says how many of `lines`, such as "7 lines", these were, and what helps. `result`: what the program calls it.
  void report(const std::string& lines, const std::string& result) const;

 private:
  int64_t count_ = 0;
};

/// Counts the lines whose translation the guard warns of, by the kinds of warnings.
class SuspiciousLines {
 public:
  void add(const Translation& result);
  /// Says how many of `lines`, such as "7 lines", these were, and why. `remedy`: after that.
  void report(const std::string& lines, const std::string& remedy) const;

 private:
  int64_t count_ = 0;
  std::map<WarningKind, int64_t> kinds_;
};

/// Counts the lines with text that the model's vocabulary lacks, and collects examples.
class UnknownText {
 public:
  void add(const Translation& translation);
  /// Notes how many of `lines`, such as "7 lines", these were, and what the vocabulary lacks.
  void report(const std::string& lines) const;

 private:
  int64_t count_ = 0;
  std::vector<std::string> examples_;
  bool has_more_ = false;
};

/// Counts the lines that name no target language although the model has several.
class LinesWithoutLanguage {
 public:
  /// @param source of the model; must outlive this
  LinesWithoutLanguage(const SubwordModel& source, const TranslationOptions& options);
  void add(const std::string& line, const Translation& translation);
  /// Notes how many of `lines`, such as "7 lines", these were, and the model's languages.
  void report(const std::string& lines) const;

 private:
  const SubwordModel& source_;
  std::vector<std::string> languages_;  // empty if lines need not name one
  int64_t count_ = 0;
};

}  // namespace transmute
