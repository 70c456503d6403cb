#pragma once

#include <transmute/translation/model_folder.h>
#include <transmute/translation/translator.h>

#include <functional>
#include <string>
#include <vector>

namespace transmute {

/// Runs task(0) … task(count-1), each once, on whichever threads there are, and returns when all have ended.
using ParallelFor = std::function<void(size_t count, const std::function<void(size_t)>& task)>;

/// Text to text with a model in memory: tokenises, splits over-long input, batches by length, searches, puts the
/// results back into input order. Translator is this behind a header without LibTorch; validation uses it on the
/// weights being trained.
class TranslationEngine {
 public:
  /// The transformer must be in eval mode.
  TranslationEngine(Transformer transformer, Tokenizer tokenizer, torch::Device device, ParallelFor parallel_for);

  /// One result per text, in order. As many calls at once as `parallel_for` allows.
  std::vector<Translation> translate(const std::vector<std::string>& texts, const TranslationOptions& options,
                                     const TranslationHooks& hooks = {}) const;

 private:
  Transformer transformer_;
  Tokenizer tokenizer_;
  torch::Device device_;
  ParallelFor parallel_for_;
};

/// Cuts ids into parts of at most `limit`, after the end of a sentence if there is one, else of a clause,
/// else of a word. `pieces` are the ids' SentencePiece pieces.
std::vector<Ids> split_ids(const Ids& ids, const std::vector<std::string>& pieces, int64_t limit);

}  // namespace transmute
