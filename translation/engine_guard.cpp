// SPDX-License-Identifier: Apache-2.0
#include <transmute/search/score_targets.h>
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
  const auto align = [&](const std::vector<SourcePart>& parts, const std::vector<std::string>& targets) {
    return attention_of(parts, targets, options);
  };
  const TranslationGuard guard({tokenizer_, expected_, splitter_for(options), align, search_parts}, options);
  std::vector<GuardedPart> parts;
  for (const size_t part : batch) {
    // The part of a text that a hook has seen cannot change any more. It sees nothing of a text in several parts.
    const bool is_streamed = call_hooks.streams() && sources.counts[sources.parts[part].text] == 1;
    parts.push_back({sources.parts[part], translations[part], !is_streamed});
  }
  guard.check(parts);
}

std::vector<Attention> TranslationEngine::attention_of(const std::vector<SourcePart>& parts,
                                                       const std::vector<std::string>& targets,
                                                       const TranslationOptions& options) const {
  std::vector<Ids> source_ids, target_ids;
  for (size_t i = 0; i < parts.size(); ++i) {
    source_ids.push_back(parts[i].ids);
    Ids& ids = target_ids.emplace_back(parts[i].prefix.begin(),
                                       parts[i].prefix.begin() + static_cast<int64_t>(parts[i].forced.target));
    const Ids own = tokenizer_.target().encode(targets[i]);
    ids.insert(ids.end(), own.begin(), own.end());
    if (static_cast<int64_t>(ids.size()) > most_tokens_) ids.resize(static_cast<size_t>(most_tokens_));
  }
  SearchOptions search;
  search.alignments = true;
  std::vector<Attention> attention;
  for (IdHypothesis& found :
       score_targets(*model_, source_ids, target_ids, search, options.batch_size, options.batch_tokens, one_by_one)) {
    const ForcedTokens forced = parts[attention.size()].forced;
    attention.push_back(to_hypothesis(std::move(found), tokenizer_.target(), forced).alignment);
  }
  return attention;
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
  for (const size_t part : batch) rate(translations[part]);
}

}  // namespace v0
}  // namespace transmute
