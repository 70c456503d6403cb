// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/text/sentences.h>

#include <transmute/metrics/metric_text.h>
#include <unicode/brkiter.h>
#include <unicode/locid.h>
#include <unicode/utext.h>

#include <memory>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

std::vector<std::string> split_sentences(const std::string& text) {
  std::vector<std::string> sentences;
  for (const auto& [begin, end] : sentence_spans(text)) sentences.push_back(text.substr(begin, end - begin));
  return sentences;
}

std::vector<std::pair<size_t, size_t>> sentence_spans(const std::string& text) {
  UErrorCode error = U_ZERO_ERROR;
  // Making one takes longer than most sentences do.
  thread_local const std::unique_ptr<icu::BreakIterator> borders(
      icu::BreakIterator::createSentenceInstance(icu::Locale::getRoot(), error));
  if (!borders) throw std::runtime_error("ICU has no rules for sentences; is its data (libicu) installed?");
  const std::unique_ptr<UText, UText* (*)(UText*)> view(
      utext_openUTF8(nullptr, text.data(), static_cast<int64_t>(text.size()), &error), utext_close);
  if (U_SUCCESS(error)) borders->setText(view.get(), error);
  if (U_FAILURE(error)) throw std::runtime_error(std::string("ICU cannot split sentences: ") + u_errorName(error));
  std::vector<std::pair<size_t, size_t>> spans;
  int32_t begin = borders->first();
  for (int32_t end = borders->next(); end != icu::BreakIterator::DONE; begin = end, end = borders->next()) {
    const auto first = static_cast<size_t>(begin);
    const size_t length = strip_right(std::string_view(text).substr(first, static_cast<size_t>(end - begin))).size();
    if (length > 0) spans.emplace_back(first, first + length);
  }
  return spans;
}

}  // namespace v0
}  // namespace transmute
