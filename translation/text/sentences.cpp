// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/text/sentences.h>

#include <transmute/metrics/metric_text.h>
#include <unicode/brkiter.h>
#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/uscript.h>
#include <unicode/utext.h>
#include <unicode/utf8.h>

#include <memory>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

enum class Spacing {
  any,          // it says nothing of it: "!", quotation marks
  words,        // there are spaces between words and sentences
  wide_letter,  // Chinese and Japanese: there are none
  wide_mark,    // "。": there are none beside it
};

Spacing spacing_of(UChar32 c) {
  UErrorCode error = U_ZERO_ERROR;
  const auto width = static_cast<UEastAsianWidth>(u_getIntPropertyValue(c, UCHAR_EAST_ASIAN_WIDTH));
  const bool is_wide =
      (width == U_EA_WIDE || width == U_EA_FULLWIDTH) && uscript_getScript(c, &error) != USCRIPT_HANGUL;
  if (u_isalnum(c)) return is_wide ? Spacing::wide_letter : Spacing::words;
  return is_wide && u_ispunct(c) ? Spacing::wide_mark : Spacing::any;
}

// Of the last character that says it.
Spacing spacing_at_end(const std::string& text) {
  Spacing spacing = Spacing::any;
  for (auto at = static_cast<int32_t>(text.size()); at > 0 && spacing == Spacing::any;) {
    UChar32 c = 0;
    U8_PREV(text.data(), 0, at, c);
    spacing = spacing_of(c);
  }
  return spacing;
}

}  // namespace

std::vector<std::string> split_sentences(const std::string& text, const Glossary& glossary) {
  std::vector<std::string> sentences;
  for (const auto& [begin, end] : sentence_spans(text, glossary)) sentences.push_back(text.substr(begin, end - begin));
  return sentences;
}

std::vector<std::pair<size_t, size_t>> sentence_spans(const std::string& text, const Glossary& glossary) {
  UErrorCode error = U_ZERO_ERROR;
  // Making one takes longer than most sentences do.
  thread_local const std::unique_ptr<icu::BreakIterator> borders(
      icu::BreakIterator::createSentenceInstance(icu::Locale::getRoot(), error));
  if (!borders) throw std::runtime_error("ICU has no rules for sentences; is its data (libicu) installed?");
  const std::unique_ptr<UText, UText* (*)(UText*)> view(
      utext_openUTF8(nullptr, text.data(), static_cast<int64_t>(text.size()), &error), utext_close);
  if (U_SUCCESS(error)) borders->setText(view.get(), error);
  if (U_FAILURE(error)) throw std::runtime_error(std::string("ICU cannot split sentences: ") + u_errorName(error));
  const std::vector<TermMatch> terms = glossary.matches_in(text);
  auto term = terms.begin();
  std::vector<std::pair<size_t, size_t>> spans;
  int32_t begin = borders->first();
  for (int32_t end = borders->next(); end != icu::BreakIterator::DONE; begin = end, end = borders->next()) {
    const auto first = static_cast<size_t>(begin);
    const size_t length = strip_right(std::string_view(text).substr(first, static_cast<size_t>(end - begin))).size();
    if (length == 0) continue;
    while (term != terms.end() && term->end <= first) ++term;
    if (term != terms.end() && term->begin < first && !spans.empty()) {
      spans.back().second = first + length;
    } else {
      spans.emplace_back(first, first + length);
    }
  }
  return spans;
}

// Thai, Lao and Khmer, which have no spaces between words, have them between sentences. Of `next` only the first
// character counts, so that the answer is known when a translation begins.
std::string space_between(const std::string& sentence, const std::string& next) {
  if (sentence.empty() || next.empty()) return "";
  int32_t at = 0;
  UChar32 first = 0;
  U8_NEXT(next.data(), at, static_cast<int32_t>(next.size()), first);
  const Spacing before = spacing_at_end(sentence), after = spacing_of(first);
  const bool has_none = before == Spacing::wide_mark || after == Spacing::wide_mark ||
                        (before == Spacing::wide_letter && after != Spacing::words);
  return has_none ? "" : " ";
}

}  // namespace v0
}  // namespace transmute
