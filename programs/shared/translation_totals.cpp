// SPDX-License-Identifier: Apache-2.0
#include <transmute/programs/shared/translation_totals.h>

#include <spdlog/fmt/fmt.h>
#include <transmute/common/progress.h>
#include <transmute/programs/shared/program.h>

#include <utility>

namespace transmute {

namespace {

// The text within a cell of a table.
std::string as_cell(std::string text) {
  for (char& byte : text)
    if (byte == '\t' || byte == '\n' || byte == '\r') byte = ' ';
  return text;
}

}  // namespace

TranslationTotals::TranslationTotals(const TranslationOptions& options, const SubwordModel& source, int64_t before,
                                     std::string unit, const std::string& warnings)
    : counts_loops_(options.guard == Guard::off && options.search.constraint == nullptr),
      cut_lines_(options.max_source_tokens),
      without_language_(source, options),
      before_(before),
      unit_(std::move(unit)),
      warnings_path_(warnings) {
  if (!warnings.empty()) warnings_ = std::make_unique<Output>(warnings);
}

void TranslationTotals::add(const std::string& text, const Translation& translation) {
  ++lines_;
  if (translation.parts > translation.sentences) cut_lines_.add(translation.parts, translation.source_tokens.size());
  if (counts_loops_) looping_lines_.add(translation);
  suspicious_lines_.add(translation);
  if (warnings_)
    for (const TranslationWarning& warning : translation.warnings)
      warnings_->write(fmt::format("{}\t{}\t{}\t{}\t{}\n", lines(), name_of(warning.kind), as_cell(warning.message),
                                   as_cell(text), as_cell(translation.hypotheses.front().text)));
  unknown_text_.add(translation);
  without_language_.add(text, translation);
}

void TranslationTotals::report() {
  if (warnings_) warnings_->finish();
  const std::string all = counted(lines_, unit_);
  if (cut_lines_.count() > 0)
    note(fmt::format("{} of {} {}; translated in parts", format_count(cut_lines_.count()), all, cut_lines_.reason()));
  looping_lines_.report(all, "translation");
  suspicious_lines_.report(all, warnings_         ? "; see " + warnings_path_
                                : unit_ == "line" ? "; --format json says where"
                                                  : "; --warnings FILE says where");
  unknown_text_.report(all);
  without_language_.report(all);
}

}  // namespace transmute
