// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/text/word_alignment.h>

#include <transmute/translation/text/format.h>
#include <transmute/translation/text/source_parts.h>

#include <set>

namespace transmute {
inline namespace v0 {

namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f';
}

// For each byte of the text the word that it belongs to; of a blank, the word that follows, or the last one.
std::vector<size_t> words_by_byte(const std::string& text) {
  std::vector<size_t> words(text.size() + 1);
  size_t begun = 0;  // words, so far
  for (size_t i = 0; i < text.size(); ++i) {
    if (!is_blank(text[i]) && (i == 0 || is_blank(text[i - 1]))) ++begun;
    words[i] = is_blank(text[i]) ? begun : begun - 1;
  }
  words.back() = begun;
  for (size_t& word : words)
    if (word >= begun && begun > 0) word = begun - 1;
  return words;
}

// A token's span may begin with the blank before its word.
size_t word_of(const std::pair<size_t, size_t>& span, const std::string& text, const std::vector<size_t>& words) {
  size_t at = span.first;
  while (at < span.second && at < text.size() && is_blank(text[at])) ++at;
  return words[std::min(at, text.size())];
}

}  // namespace

std::vector<size_t> source_words(const SubwordModel& tokenizer, const std::string& text,
                                 const std::vector<std::pair<size_t, size_t>>& sentences) {
  const std::vector<size_t> by_byte = words_by_byte(text);
  std::vector<size_t> words;
  for (const auto& span : source_spans(tokenizer, text, sentences)) words.push_back(word_of(span, text, by_byte));
  return words;
}

std::vector<size_t> target_words(const SubwordModel& tokenizer, const Hypothesis& hypothesis) {
  const std::vector<size_t> by_byte = words_by_byte(hypothesis.text);
  std::vector<size_t> words;
  for (const auto& span : tokenizer.spans_of_pieces(hypothesis.tokens, hypothesis.text))
    words.push_back(word_of(span, hypothesis.text, by_byte));
  return words;
}

std::vector<std::pair<size_t, size_t>> word_links(const Hypothesis& hypothesis, const std::vector<size_t>& source_words,
                                                  const std::vector<size_t>& target_words) {
  std::set<std::pair<size_t, size_t>> links;  // (target, source), so that the target's order is theirs
  for (const auto& [source, target] : hard_alignment(hypothesis))
    links.emplace(target_words.at(target), source_words.at(source));
  std::vector<std::pair<size_t, size_t>> ordered;
  for (const auto& [target, source] : links) ordered.emplace_back(source, target);
  return ordered;
}

}  // namespace v0
}  // namespace transmute
