// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/sentences.h>

#include <transmute/text/characters.h>
#include <transmute/text/sentence_characters.h>
#include <transmute/text/sentence_scan.h>

#include <string_view>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

enum class Spacing {
  any,          // says nothing: "!", quotation marks
  words,        // there are spaces between words and sentences
  wide_letter,  // Chinese and Japanese: there are none
  wide_mark,    // "。": there are none beside it
};

Spacing spacing_of(UChar32 c) {
  const bool is_wide = sentence_characters::is_wide(c);
  if (u_isalnum(c)) return is_wide ? Spacing::wide_letter : Spacing::words;
  return is_wide && u_ispunct(c) ? Spacing::wide_mark : Spacing::any;
}

// The spacing of the last character that says something about it.
Spacing spacing_at_end(const std::string& text) {
  constexpr int kMostCharacters = 100;  // so that to join many lines takes linear time
  Spacing spacing = Spacing::any;
  size_t at = text.size();
  for (int i = 0; i < kMostCharacters && at > 0 && spacing == Spacing::any; ++i, at = characters::begin(text, at))
    spacing = spacing_of(characters::before(text, at));
  return spacing;
}

std::vector<std::pair<size_t, size_t>> joined_at_terms(const std::vector<std::pair<size_t, size_t>>& sentences,
                                                       const std::vector<TermMatch>& terms) {
  std::vector<std::pair<size_t, size_t>> joined;
  auto term = terms.begin();
  for (const auto& sentence : sentences) {
    while (term != terms.end() && term->end <= sentence.first) ++term;
    if (term != terms.end() && term->begin < sentence.first && !joined.empty()) {
      joined.back().second = sentence.second;
    } else {
      joined.push_back(sentence);
    }
  }
  return joined;
}

}  // namespace

SentenceSplitter::SentenceSplitter(const std::string& language, const std::vector<std::string>& words) : languages_(0) {
  if (const std::string code = language_code(language); !code.empty()) languages_ = language_set(code);
  if (!words.empty()) words_ = std::make_shared<const std::unordered_set<std::string>>(words.begin(), words.end());
}

SentenceSplitter SentenceSplitter::with_language(const std::string& language) const {
  SentenceSplitter other(language);
  other.words_ = words_;
  return other;
}

std::vector<std::string> SentenceSplitter::split(const std::string& text, const Glossary& glossary) const {
  std::vector<std::string> sentences;
  for (const auto& [begin, end] : spans(text, glossary)) sentences.push_back(text.substr(begin, end - begin));
  return sentences;
}

std::vector<std::pair<size_t, size_t>> SentenceSplitter::spans(const std::string& text, const Glossary& glossary,
                                                               const std::vector<size_t>& line_ends) const {
  std::vector<std::pair<size_t, size_t>> spans;
  const LanguageSet languages = languages_ == 0 && !line_ends.empty() ? guess_languages(text) : languages_;
  size_t begin = 0;
  for (size_t line = 0; line <= line_ends.size(); ++line) {
    const size_t end = line < line_ends.size() ? line_ends[line] : text.size();
    SentenceScan scan(std::string_view(text).substr(begin, end - begin), languages, words_.get());
    for (std::pair<size_t, size_t> sentence; scan.next(sentence);)
      spans.emplace_back(begin + sentence.first, begin + sentence.second);
    begin = end;
  }
  return spans.size() > 1 ? joined_at_terms(spans, glossary.matches_in(text)) : spans;
}

// Thai, Lao and Khmer, which have no spaces between words, have them between sentences. Only the first character of
// `next` counts, so that the answer is known when a translation begins.
std::string space_between(const std::string& sentence, const std::string& next, std::string_view gap) {
  if (sentence.empty() || next.empty()) return "";
  if (gap.find_first_of("\r\n") != std::string_view::npos) return std::string(gap);
  const Spacing before = spacing_at_end(sentence), after = spacing_of(characters::at(next, 0));
  const bool has_none = before == Spacing::wide_mark || after == Spacing::wide_mark ||
                        (before == Spacing::wide_letter && after != Spacing::words);
  return has_none ? "" : std::string(gap);
}

}  // namespace v0
}  // namespace transmute
