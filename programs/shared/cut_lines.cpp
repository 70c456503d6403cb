// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/shared/cut_lines.h>

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>
#include <transmute/common/files.h>
#include <transmute/common/progress.h>
#include <transmute/programs/shared/program.h>
#include <transmute/text/format.h>
#include <transmute/text/source_parts.h>

#include <algorithm>
#include <set>

namespace transmute {

void CutLines::add(int parts, size_t tokens) {
  if (parts < 2) return;
  ++count_;
  positions_are_fewer_ = positions_are_fewer_ || static_cast<int64_t>(tokens) <= most_tokens_;
}

std::string CutLines::reason() const {
  return positions_are_fewer_ ? "had more tokens than the model has learned positions for"
                              : "had over " + counted(most_tokens_, "token");
}

void LoopingLines::add(const Translation& result) {
  if (has_loop(result.hypotheses.front().tokens) && !has_loop(result.source_tokens)) ++count_;
}

void LoopingLines::report(const std::string& lines, const std::string& result) const {
  if (count_ == 0) return;
  note(fmt::format("{} of {}: the {} repeats the same words over and over; --no-repeat-ngram 4 prevents that",
                   format_count(count_), lines, result));
}

void SuspiciousLines::add(const Translation& result) {
  if (result.warnings.empty()) return;
  ++count_;
  std::set<WarningKind> kinds;
  for (const TranslationWarning& warning : result.warnings) kinds.insert(warning.kind);
  for (const WarningKind kind : kinds) ++kinds_[kind];
}

void SuspiciousLines::report(const std::string& lines, const std::string& remedy) const {
  if (count_ == 0) return;
  std::string kinds;
  for (const auto& [kind, count] : kinds_)
    kinds += fmt::format("{}{}: {}", kinds.empty() ? "" : ", ", name_of(kind), format_count(count));
  note(fmt::format("{} of {}: the translation looks wrong ({}){}", format_count(count_), lines, kinds, remedy));
}

void UnknownText::add(const Translation& translation) {
  constexpr size_t kMostExamples = 20, kMostBytes = 40;  // of an example
  if (translation.unknown.empty()) return;
  ++count_;
  for (const std::string& word : translation.unknown) {
    const std::string text = word.size() > kMostBytes ? shortened_name(word, kMostBytes) + "…" : word;
    if (std::find(examples_.begin(), examples_.end(), text) != examples_.end()) continue;
    has_more_ = examples_.size() == kMostExamples;
    if (has_more_) return;
    examples_.push_back(text);
  }
}

void UnknownText::report(const std::string& lines) const {
  if (count_ == 0) return;
  note(fmt::format(
      "{} of {} had characters that the model's vocabulary lacks, in words that are not translated: {}{}; a "
      "model trained with tokenizer.byte_fallback: true reads every character",
      format_count(count_), lines, fmt::join(examples_, " "), has_more_ ? " …" : ""));
}

LinesWithoutLanguage::LinesWithoutLanguage(const SubwordModel& source, const TranslationOptions& options)
    : source_(source) {
  if (source.languages() != LanguagePieces::tags || !options.target_language.empty()) return;
  languages_ = source.language_names();
  if (languages_.size() == 1) languages_.clear();
}

void LinesWithoutLanguage::add(const std::string& line, const Translation& translation) {
  if (languages_.empty() || translation.source_tokens.empty() || !leading_tag(source_, line).empty()) return;
  ++count_;
}

void LinesWithoutLanguage::report(const std::string& lines) const {
  constexpr size_t kMostNamed = 20;
  if (count_ == 0) return;
  const auto end = languages_.begin() + static_cast<int64_t>(std::min(languages_.size(), kMostNamed));
  note(fmt::format("{} of {} had no target language, and the model has several ({}{}): give --target-language",
                   format_count(count_), lines, fmt::join(languages_.begin(), end, ", "),
                   end == languages_.end() ? "" : ", …"));
}

}  // namespace transmute
