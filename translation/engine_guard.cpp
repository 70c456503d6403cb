// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/checks/coverage.h>
#include <transmute/translation/call_hooks.h>
#include <transmute/translation/engine.h>
#include <transmute/translation/guard.h>
#include <transmute/translation/join_parts.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace transmute {
inline namespace v0 {

void TranslationEngine::guard_batch(const SourceParts& sources, const std::vector<size_t>& batch,
                                    const TranslationOptions& options, CallHooks& call_hooks,
                                    std::vector<Translation>& translations) const {
  const auto search_parts = [&](const std::vector<SourcePart>& parts, const TranslationOptions& changed) {
    std::vector<size_t> all(parts.size());
    std::iota(all.begin(), all.end(), size_t{0});
    std::vector<Translation> found(parts.size());
    const auto text_of = [&](size_t sentence) { return parts[sentence].text; };
    const auto nothing = [](size_t, const Ids&) -> std::optional<std::string> { return {}; };
    search_batch(parts, all, changed, call_hooks.search_hooks(text_of, nothing), found);
    return found;
  };
  const TranslationGuard guard({tokenizer_, expected_, splitter_for(options), most_tokens_, search_parts}, options);
  std::vector<GuardedPart> parts;
  for (const size_t part : batch) {
    // The part of a text that a hook has seen cannot change any more. It sees nothing of a text in several parts.
    const bool is_streamed = call_hooks.streams() && sources.counts[sources.parts[part].text] == 1;
    parts.push_back({sources.parts[part], translations[part], !is_streamed});
  }
  guard.check(parts);
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
    for (const checks::Span& word : checks::words_of_tokens(hypothesis.tokens)) {
      const size_t end_of_word = spans[word.second - 1].second;
      const size_t begin = std::min(end_of_word, hypothesis.text.find_first_not_of(' ', spans[word.first].first));
      hypothesis.words.push_back(
          {{begin, end_of_word}, logistic(curve_->word, word_features(hypothesis.token_scores, word))});
    }
  }
}

void TranslationEngine::judge_batch(const SourceParts& sources, const std::vector<size_t>& batch,
                                    const TranslationOptions& options, CallHooks& call_hooks,
                                    std::vector<Translation>& translations) const {
  if (options.guard != Guard::off && !options.search.constraint)
    guard_batch(sources, batch, options, call_hooks, translations);
  for (const size_t part : batch)
    if (!sources.parts[part].prefix_is_complete) rate(translations[part]);
}

}  // namespace v0
}  // namespace transmute
