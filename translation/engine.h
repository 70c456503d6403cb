#pragma once

#include <transmute/common/threads.h>
#include <transmute/translation/files/model_folder.h>
#include <transmute/translation/inference/step_models.h>
#include <transmute/translation/precision.h>
#include <transmute/translation/search/search.h>
#include <transmute/translation/text/shortlist.h>
#include <transmute/translation/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Text to text with a model in memory: tokenises, splits over-long input, batches by length, searches, puts the
/// results back into input order. Translator is this behind a header without LibTorch; validation uses it on the
/// weights being trained.
///
/// See make_step_model for what runs the model.
class TranslationEngine {
 public:
  /// The transformer must be in eval mode. `parallel_for` also runs what there is to do now.
  /// @throws std::invalid_argument for a decoder-only one, and for a precision but float32 where LibTorch's operations
  /// run it.
  TranslationEngine(Transformer transformer, Tokenizer tokenizer, torch::Device device, InferencePrecision precision,
                    ParallelFor parallel_for);

  /// Several models of that tokenizer, whose probabilities are averaged.
  TranslationEngine(const std::vector<Transformer>& transformers, Tokenizer tokenizer, torch::Device device,
                    InferencePrecision precision, ParallelFor parallel_for, WeightUse use = WeightUse::copied);

  /// From now on translations are made of what a source's shortlist has.
  void use(Shortlist shortlist) { shortlist_ = std::make_unique<const Shortlist>(std::move(shortlist)); }

  /// One result per text, in order. As many calls at once as `parallel_for` allows.
  std::vector<Translation> translate(const std::vector<std::string>& texts, const TranslationOptions& options,
                                     const TranslationHooks& hooks = {}) const;

  /// The probability of each target given the source of the same number: a hypothesis with the target's text.
  std::vector<Hypothesis> score(const std::vector<std::string>& sources, const std::vector<std::string>& targets,
                                const TranslationOptions& options) const;

  /// Why LibTorch's operations run the model on the CPU, several times slower; empty where they do not.
  const std::string& plain_reason() const { return plain_reason_; }

 private:
  std::vector<Translation> translate_tagged(const std::vector<std::string>& texts, const TranslationOptions& options,
                                            const TranslationHooks& hooks) const;
  std::shared_ptr<const StepModel> model_;
  std::string plain_reason_;
  Tokenizer tokenizer_;
  std::unique_ptr<const Shortlist> shortlist_;  // where there is one
  ParallelFor parallel_for_;
};

/// @throws std::invalid_argument naming the option, where its value is less than 1.
void check_at_least_one(int64_t value, const char* option);

/// What search found, as text.
Hypothesis to_hypothesis(IdHypothesis&& found, const SubwordModel& target);

/// Numbers of texts, batch by batch: those of similar length together, the longest first. There is little padding then,
/// and the last batches are the short ones, so that workers end at about the same time.
/// @param batch_tokens of a batch at most, its padding and ends included
std::vector<std::vector<size_t>> batches_by_length(const std::vector<size_t>& lengths, int64_t batch_size,
                                                   int64_t batch_tokens);

/// The probability of each target, its end included, given the source of the same number: one hypothesis each. Of
/// `options` the length penalty and the alignments count. The last three as for TranslationEngine.
std::vector<IdHypothesis> score_targets(const StepModel& model, const std::vector<Ids>& sources,
                                        const std::vector<Ids>& targets, const SearchOptions& options,
                                        int64_t batch_size, int64_t batch_tokens, const ParallelFor& parallel_for);

/// Cuts ids into parts of at most `limit`, after the end of a sentence if there is one, else of a clause,
/// else of a word. `pieces` are the ids' SentencePiece pieces.
std::vector<Ids> split_ids(const Ids& ids, const std::vector<std::string>& pieces, int64_t limit);

}  // namespace v0
}  // namespace transmute
