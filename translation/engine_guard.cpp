// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/checks/coverage.h>
#include <transmute/translation/call_hooks.h>
#include <transmute/translation/engine.h>
#include <transmute/translation/guard.h>
#include <transmute/translation/join_parts.h>

#include <numeric>

namespace transmute {
inline namespace v0 {

void TranslationEngine::judge_batch(const std::vector<TranslatedPart>& batch, const TranslationOptions& options,
                                    CallHooks& call_hooks) const {
  const auto search_parts = [&](const std::vector<SourcePart>& parts, const TranslationOptions& changed) {
    std::vector<Translation> found(parts.size());
    std::vector<TranslatedPart> searched;
    for (size_t i = 0; i < parts.size(); ++i) searched.push_back({parts[i], found[i]});
    search_batch(searched, changed, call_hooks, nullptr);
    return found;
  };
  if (options.guard != Guard::off && !options.search.constraint)
    TranslationGuard({tokenizer_, expected_, splitter_for(options), most_tokens_, search_parts}, options).check(batch);
  for (const TranslatedPart& part : batch)
    if (!part.source.prefix_is_complete) rate(part.translation);
}

void TranslationEngine::rate(Translation& translation) const {
  if (!curve_) return;
  for (Hypothesis& hypothesis : translation.hypotheses) {
    if (hypothesis.tokens.empty() || hypothesis.token_scores.size() != hypothesis.tokens.size()) continue;
    const bool is_best = &hypothesis == translation.hypotheses.data();
    const double end = hypothesis.log_probability -
                       std::accumulate(hypothesis.token_scores.begin(), hypothesis.token_scores.end(), 0.0);
    hypothesis.confidence =
        logistic(curve_->text, text_features(hypothesis.token_scores, end, is_best && !translation.warnings.empty()));
    const auto spans = tokenizer_.target().spans_of_pieces(hypothesis.tokens, hypothesis.text);
    for (const ByteSpan& word : checks::words_of_tokens(hypothesis.tokens))
      hypothesis.words.push_back({{spans[word.first].first, spans[word.second - 1].second},
                                  logistic(curve_->word, word_features(hypothesis.token_scores, word))});
  }
}

}  // namespace v0
}  // namespace transmute
