// SPDX-License-Identifier: Apache-2.0
#include <transmute/translation/c_calls.h>

namespace {

const transmute::Translation* find_text(const transmute_result* result, size_t text) {
  return result != nullptr && text < result->translations.size() ? &result->translations[text] : nullptr;
}

const transmute::Hypothesis* find_hypothesis(const transmute_result* result, size_t text, size_t hypothesis) {
  const auto* translation = find_text(result, text);
  return translation != nullptr && hypothesis < translation->hypotheses.size() ? &translation->hypotheses[hypothesis]
                                                                               : nullptr;
}

}  // namespace

extern "C" {

void transmute_result_free(transmute_result* result) {
  delete result;
}

size_t transmute_result_count(const transmute_result* result) {
  return result == nullptr ? 0 : result->translations.size();
}

size_t transmute_result_hypotheses(const transmute_result* result, size_t text) {
  const auto* translation = find_text(result, text);
  return translation == nullptr ? 0 : translation->hypotheses.size();
}

const char* transmute_result_text(const transmute_result* result, size_t text, size_t hypothesis) {
  const auto* found = find_hypothesis(result, text, hypothesis);
  return found == nullptr ? nullptr : found->text.c_str();
}

double transmute_result_score(const transmute_result* result, size_t text, size_t hypothesis) {
  const auto* found = find_hypothesis(result, text, hypothesis);
  return found == nullptr ? 0 : found->score;
}

double transmute_result_log_probability(const transmute_result* result, size_t text, size_t hypothesis) {
  const auto* found = find_hypothesis(result, text, hypothesis);
  return found == nullptr ? 0 : found->log_probability;
}

double transmute_result_reverse_log_probability(const transmute_result* result, size_t text, size_t hypothesis) {
  const auto* found = find_hypothesis(result, text, hypothesis);
  return found == nullptr ? 0 : found->reverse_log_probability.value_or(0);
}

size_t transmute_result_source_length(const transmute_result* result, size_t text) {
  const auto* translation = find_text(result, text);
  return translation == nullptr ? 0 : translation->source_tokens.size();
}

const char* transmute_result_source_token(const transmute_result* result, size_t text, size_t position) {
  const auto* translation = find_text(result, text);
  return translation != nullptr && position < translation->source_tokens.size()
             ? translation->source_tokens[position].c_str()
             : nullptr;
}

size_t transmute_result_length(const transmute_result* result, size_t text, size_t hypothesis) {
  const auto* found = find_hypothesis(result, text, hypothesis);
  return found == nullptr ? 0 : found->tokens.size();
}

const char* transmute_result_token(const transmute_result* result, size_t text, size_t hypothesis, size_t position) {
  const auto* found = find_hypothesis(result, text, hypothesis);
  return found != nullptr && position < found->tokens.size() ? found->tokens[position].c_str() : nullptr;
}

double transmute_result_token_score(const transmute_result* result, size_t text, size_t hypothesis, size_t position) {
  const auto* found = find_hypothesis(result, text, hypothesis);
  return found != nullptr && position < found->token_scores.size() ? found->token_scores[position] : 0;
}

const float* transmute_result_alignment(const transmute_result* result, size_t text, size_t hypothesis,
                                        size_t position) {
  const auto* found = find_hypothesis(result, text, hypothesis);
  return found != nullptr && position < found->alignment.size() ? found->alignment[position].data() : nullptr;
}

size_t transmute_result_warnings(const transmute_result* result, size_t text) {
  const auto* translation = find_text(result, text);
  return translation == nullptr ? 0 : translation->warnings.size();
}

transmute_warning transmute_result_warning(const transmute_result* result, size_t text, size_t index) {
  const auto* translation = find_text(result, text);
  if (translation == nullptr || index >= translation->warnings.size()) return {};
  const transmute::TranslationWarning& warning = translation->warnings[index];
  return {transmute::name_of(warning.kind),
          warning.message.c_str(),
          warning.source.first,
          warning.source.second,
          warning.target.first,
          warning.target.second};
}

double transmute_result_confidence(const transmute_result* result, size_t text, size_t hypothesis) {
  const auto* found = find_hypothesis(result, text, hypothesis);
  return found == nullptr ? -1 : found->confidence.value_or(-1);
}

size_t transmute_result_words(const transmute_result* result, size_t text, size_t hypothesis) {
  const auto* found = find_hypothesis(result, text, hypothesis);
  return found == nullptr ? 0 : found->words.size();
}

transmute_word transmute_result_word(const transmute_result* result, size_t text, size_t hypothesis, size_t index) {
  const auto* found = find_hypothesis(result, text, hypothesis);
  if (found == nullptr || index >= found->words.size()) return {};
  const transmute::WordConfidence& word = found->words[index];
  return {word.place.first, word.place.second, word.confidence};
}

size_t transmute_result_links(const transmute_result* result, size_t text, size_t hypothesis) {
  const auto* found = find_hypothesis(result, text, hypothesis);
  return found == nullptr || !found->word_alignment ? 0 : found->word_alignment->size();
}

transmute_link transmute_result_link(const transmute_result* result, size_t text, size_t hypothesis, size_t index) {
  if (index >= transmute_result_links(result, text, hypothesis)) return {};
  const auto& [source, target] = (*find_hypothesis(result, text, hypothesis)->word_alignment)[index];
  return {source, target};
}

size_t transmute_result_unknowns(const transmute_result* result, size_t text) {
  const auto* translation = find_text(result, text);
  return translation == nullptr ? 0 : translation->unknown.size();
}

const char* transmute_result_unknown(const transmute_result* result, size_t text, size_t index) {
  const auto* translation = find_text(result, text);
  return translation == nullptr || index >= translation->unknown.size() ? nullptr : translation->unknown[index].c_str();
}

}  // extern "C"
