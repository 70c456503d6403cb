#pragma once

#include <transmute/common/threads.h>
#include <transmute/translation/model_folder.h>
#include <transmute/translation/translator.h>

#include <string>
#include <vector>

namespace transmute {

/// Text to text with a model in memory: tokenises, splits over-long input, batches by length, searches on the
/// workers, puts the results back into input order. Translator is this behind a header without LibTorch;
/// validation uses it on the weights being trained.
class TranslationEngine {
 public:
  /// The transformer must be in eval mode; `workers` must outlive the engine.
  TranslationEngine(Transformer transformer, Tokenizer tokenizer, torch::Device device, WorkerCrew& workers);

  /// One result per text, in order. Not to be called by two threads at once: the workers are one crew.
  std::vector<Translation> translate(const std::vector<std::string>& texts, const TranslationOptions& options) const;

 private:
  Transformer transformer_;
  Tokenizer tokenizer_;
  torch::Device device_;
  WorkerCrew& workers_;
};

/// Cuts ids into parts of at most `limit`, after the end of a sentence if there is one, else of a clause,
/// else of a word. `pieces` are the ids' SentencePiece pieces.
std::vector<Ids> split_ids(const Ids& ids, const std::vector<std::string>& pieces, int64_t limit);

}  // namespace transmute
