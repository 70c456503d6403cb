// SPDX-License-Identifier: Apache-2.0
#include <transmute/training/learned_shortlist.h>

#include <transmute/training/data/lexical_model.h>
#include <transmute/training/run_text.h>
#include <transmute/training/text_profile.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

// Limits on the sentence pairs that are tokenized, and on the pairs of tokens that Model 1 sees in each iteration. Each
// distinct pair of tokens takes 16 bytes.
constexpr size_t kMostPairs = 100'000, kMostTokenPairs = size_t{1} << 26;

// Pairs from all over the text, few enough for the limits.
ParallelText thinned_out(const ParallelText& text) {
  size_t token_pairs = 0;
  for (size_t i = 0; i < text.size(); ++i) token_pairs += (text.source.length(i) + 1) * text.target.length(i);
  const size_t step = token_pairs / kMostTokenPairs + 1;
  ParallelText part;
  for (size_t i = 0; i < text.size(); i += step) {
    part.source.add(text.source.data(i), text.source.length(i));
    part.target.add(text.target.data(i), text.target.length(i));
  }
  return part;
}

}  // namespace

std::shared_ptr<const Shortlist> learn_shortlist(const TrainingConfig& config, const Tokenizer& tokenizer) {
  const ParallelText text = tokenized(sample_training_text(config, kMostPairs), tokenizer, length_limits(config));
  const LexicalModel model(thinned_out(text), kShortlistIterations);
  const ShortlistOptions options;
  std::vector<Ids> translations(static_cast<size_t>(model.source_tokens()));
  for (size_t source = 0; source < translations.size(); ++source)
    for (const auto& best :
         model.best(static_cast<int64_t>(source), static_cast<size_t>(options.best), kLeastShortlistProbability))
      translations[source].push_back(best.target);
  return std::make_shared<Shortlist>(std::move(translations), options, tokenizer);
}

bool shortlist_pays(const Shortlist& shortlist, const Tokenizer& tokenizer, const std::vector<std::string>& texts) {
  constexpr size_t kBatch = 64;
  std::vector<Ids> sources;
  for (const std::string& text : texts) sources.push_back(tokenizer.source().encode(text));
  std::stable_sort(sources.begin(), sources.end(), [](const Ids& a, const Ids& b) { return a.size() < b.size(); });
  size_t batches = 0, tokens = 0;
  for (size_t first = 0; first < sources.size(); first += kBatch, ++batches) {
    std::set<int64_t> of_batch;
    for (size_t i = first; i < std::min(first + kBatch, sources.size()); ++i)
      for (const int64_t token : shortlist.tokens_for(sources[i])) of_batch.insert(token);
    tokens += of_batch.size();
  }
  return batches > 0 && 2 * tokens < batches * static_cast<size_t>(tokenizer.target().size());
}

}  // namespace v0
}  // namespace transmute
