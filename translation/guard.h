// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/checks/expectations.h>
#include <transmute/text/sentences.h>
#include <transmute/text/source_parts.h>
#include <transmute/text/types.h>
#include <transmute/tokenizer/tokenizer.h>
#include <transmute/translation/join_parts.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The cross-attention of a translation: a row for each target token, a column for each source token.
using Attention = std::vector<std::vector<float>>;

/// True if the options leave it to the guard which translation is the best one.
bool may_choose(const TranslationOptions& options);

/// Checks the translations of the parts of texts, and looks for better ones (TranslationOptions::guard).
class TranslationGuard {
 public:
  /// The functions of the engine that the guard needs.
  struct Model {
    const Tokenizer& tokenizer;
    const Expectations& expected;
    SentenceSplitter splitter;
    int64_t most_tokens;  ///< of a source or a target
    /// Translates parts.
    std::function<std::vector<Translation>(const std::vector<SourcePart>& parts, const TranslationOptions& options)>
        search;
  };

  /// `options` must outlive the guard.
  TranslationGuard(Model model, const TranslationOptions& options) : model_(std::move(model)), options_(options) {}

  /// Fills the warnings of the translations. Source places are those in the whole text, target places those in the
  /// part's translation.
  void check(const std::vector<TranslatedPart>& parts) const;

 private:
  // The warnings that are found without attention.
  std::vector<TranslationWarning> cheap_warnings(const SourcePart& part, const Translation& translation) const;
  std::vector<TranslationWarning> omissions(const SourcePart& part, const Translation& translation,
                                            const Attention& attention) const;
  // Standard deviations from the expected length.
  double length_deviation(const SourcePart& part, const Translation& translation) const;
  // True if it is worth computing the attention.
  bool is_doubtful(const SourcePart& part, const Translation& translation) const;
  void warn_of_omissions(const std::vector<TranslatedPart>& parts) const;
  // Judges a translation with its alignment.
  void judge(const SourcePart& part, Translation& translation) const;
  // A part whose translation looks wrong.
  struct Retried {
    const SourcePart& part;
    Translation& translation;
    bool was_copy;
    bool had_bracket_fault;
    bool may_cut;
    std::vector<std::string> tokens;  // of the source
    Ids ids;                          // the same, without those that are forced
  };
  // Looks for better translations of the parts that have warnings.
  void retry(const std::vector<TranslatedPart>& parts) const;
  // Takes the source itself where `is_taken`: the translation only adds to it.
  void take_sources(const std::vector<Retried>& parts, const TranslationOptions& options,
                    bool (*is_taken)(std::string_view source, std::string_view target)) const;
  // Searches again while a translation has warnings: by sentences, with a wider beam, in shorter pieces.
  void search_again(const std::vector<Retried>& parts, const TranslationOptions& options) const;
  // Translates the pieces into which each part is cut; one that has none is left out.
  void search_pieces(const std::vector<Retried>& parts, const TranslationOptions& options,
                     const std::function<std::vector<Ids>(const Retried&)>& cut_of) const;
  void search_wider(const std::vector<Retried>& parts, const TranslationOptions& options) const;
  void take_if_better(const Retried& retried, Translation&& other) const;
  // The ids of each sentence of a part.
  std::vector<Ids> sentences_of(const Retried& retried) const;

  const Model model_;
  const TranslationOptions& options_;
};

}  // namespace v0
}  // namespace transmute
