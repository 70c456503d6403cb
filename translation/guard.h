// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/checks/expectations.h>
#include <transmute/text/sentences.h>
#include <transmute/text/source_parts.h>
#include <transmute/text/types.h>
#include <transmute/tokenizer/tokenizer.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// The cross-attention of a translation: a row for each target token, a column for each source token.
using Attention = std::vector<std::vector<float>>;

/// A part of a text with its translation, which the guard may replace if `may_change`.
struct GuardedPart {
  const SourcePart& source;
  Translation& translation;
  bool may_change;
};

/// Checks the translations of the parts of texts, and looks for better ones (TranslationOptions::guard).
class TranslationGuard {
 public:
  /// The functions of the engine that the guard needs.
  struct Model {
    const Tokenizer& tokenizer;
    const Expectations& expected;
    SentenceSplitter splitter;
    /// The attention of given translations of parts.
    std::function<std::vector<Attention>(const std::vector<SourcePart>& parts, const std::vector<std::string>& targets)>
        align;
    /// Translates parts of one text.
    std::function<std::vector<Translation>(const std::vector<SourcePart>& parts, const TranslationOptions& options)>
        search;
  };

  /// `options` must outlive the guard.
  TranslationGuard(Model model, const TranslationOptions& options) : model_(std::move(model)), options_(options) {}

  /// Fills the warnings of the translations. Source places are those in the whole text, target places those in the
  /// part's translation.
  void check(const std::vector<GuardedPart>& parts) const;

 private:
  // The warnings that are found without attention.
  std::vector<TranslationWarning> cheap_warnings(const SourcePart& part, const Translation& translation) const;
  std::vector<TranslationWarning> omissions(const SourcePart& part, const Translation& translation,
                                            const Attention& attention) const;
  // Standard deviations from the expected length.
  double length_deviation(const SourcePart& part, const Translation& translation) const;
  // True if it is worth computing the attention.
  bool is_doubtful(const SourcePart& part, const Translation& translation) const;
  void warn_of_omissions(const std::vector<GuardedPart>& parts) const;
  // Judges a translation with its alignment.
  void judge(const SourcePart& part, Translation& translation) const;
  void retry(const SourcePart& part, Translation& translation) const;
  // The hypotheses of a wider search, as translations of their own.
  std::vector<Translation> wider(const SourcePart& part, const TranslationOptions& options) const;
  // The ids of each sentence of a part.
  std::vector<Ids> sentences_of(const Ids& ids, const std::vector<std::string>& tokens, const std::string& text) const;
  // The translation joined from those of the pieces into which the part is cut.
  Translation joined(const SourcePart& part, const std::vector<Ids>& cut, const TranslationOptions& options) const;

  const Model model_;
  const TranslationOptions& options_;
};

}  // namespace v0
}  // namespace transmute
