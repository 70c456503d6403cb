// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/word_alignment.h>

#include <transmute/text/format.h>

#include <algorithm>
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

// For each word of `plain` the word of `text` that has it. `places`: of `plain` in `text`.
std::vector<size_t> words_within(const std::string& plain, const std::string& text, const Places& places) {
  const std::vector<size_t> by_byte = words_by_byte(text);
  std::vector<size_t> words;
  for (size_t at = 0; at < plain.size(); ++at)
    if (!is_blank(plain[at]) && (at == 0 || is_blank(plain[at - 1])))
      words.push_back(by_byte[std::min(place_in(places, at), text.size())]);
  return words;
}

}  // namespace

std::vector<size_t> words_of_spans(const std::vector<ByteSpan>& spans, const std::string& text) {
  const std::vector<size_t> by_byte = words_by_byte(text);
  std::vector<size_t> words;
  for (const ByteSpan& span : spans) words.push_back(word_of(span, text, by_byte));
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

std::vector<std::pair<size_t, size_t>> links_with_spans(const std::vector<std::pair<size_t, size_t>>& links,
                                                        const TagSource& source, const std::string& translation,
                                                        const TaggedTranslation& restored) {
  const std::vector<size_t> of_source = words_within(source.plain, source.text, source.places);
  const std::vector<size_t> of_target = words_within(translation, restored.text, restored.places);
  std::set<std::pair<size_t, size_t>> all;  // (target, source), as in word_links
  for (const auto& [from, to] : links) all.emplace(of_target.at(to), of_source.at(from));
  const std::vector<size_t> source_by_byte = words_by_byte(source.text), target_by_byte = words_by_byte(restored.text);
  for (size_t t = 0; t < source.tags.size(); ++t)
    all.emplace(target_by_byte[restored.tags[t]], source_by_byte[source.tags[t].opening.first]);
  std::vector<std::pair<size_t, size_t>> ordered;
  for (const auto& [to, from] : all) ordered.emplace_back(from, to);
  return ordered;
}

}  // namespace v0
}  // namespace transmute
