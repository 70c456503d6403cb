// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/threads.h>
#include <transmute/engine/step_models.h>
#include <transmute/formats/text_profile.h>
#include <transmute/text/checks/expectations.h>
#include <transmute/text/protected_spans.h>
#include <transmute/text/sentences.h>
#include <transmute/text/shortlist.h>
#include <transmute/text/source_parts.h>
#include <transmute/text/types.h>
#include <transmute/text/unknown_characters.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

class CallHooks;
class SourceCase;
class WrittenText;
class TaggedText;
struct ProtectedSpan;
struct TranslatedPart;

/// Text to text with a model in memory: tokenizes, splits over-long input, batches by length, searches, puts the
/// results back into input order. Translator is this with a model from files; validation uses it on the weights being
/// trained. LanguageModel has the batches and the search from it.
class TranslationEngine {
 public:
  /// `parallel_for` runs the batches.
  TranslationEngine(ReadyModel model, Tokenizer tokenizer, ParallelFor parallel_for);

  const Tokenizer& tokenizer() const { return tokenizer_; }
  /// Maximum number of tokens of a source or a target.
  int64_t most_tokens() const { return most_tokens_; }

  /// Restricts translations to the shortlists of their sources; null: the whole vocabulary.
  void use(std::shared_ptr<const Shortlist> shortlist) {
    shortlist_ = std::move(shortlist);
    shortlist_is_asked_for_ = true;
  }
  /// Does the same with a shortlist that no user asked for: samples and searches with a constraint keep the whole
  /// vocabulary.
  void use_by_default(std::shared_ptr<const Shortlist> shortlist) {
    shortlist_ = std::move(shortlist);
    shortlist_is_asked_for_ = false;
  }

  /// Makes this attention head give the alignments if options name neither layer nor head; both count from 1.
  void align_with(int64_t layer, int64_t head) {
    alignment_layer_ = layer;
    alignment_head_ = head;
  }
  /// Makes the engine find sentences with the facts that the training text taught.
  void use(const SentenceProfile& profile);

  /// True if SentenceSplitting::automatic translates the sentences of a text separately.
  bool splits_sentences() const { return splits_sentences_; }
  /// Finds the sentences of texts in this language, which may be empty: that of the training text, or the one that the
  /// words of a text suggest.
  SentenceSplitter sentence_splitter(const std::string& language) const;

  /// Gives the guard the expectations that the training text taught, and translations a confidence if the model is
  /// calibrated.
  void use(const TranslationProfile& profile) {
    expected_ = profile.expectations();
    curve_ = profile.curve();
  }

  /// Makes Protection::automatic leave these spans to the models, which have learned to write them.
  void leave_to_models(const std::vector<std::string>& learned) { learned_ = {learned.begin(), learned.end()}; }

  /// Sets the engine of the opposite direction, by which translations can be reranked (TranslationOptions::rerank). Its
  /// ParallelFor is called within the tasks of this engine's, and must not wait for those.
  void rerank_with(std::unique_ptr<const TranslationEngine> reverse) { reverse_ = std::move(reverse); }

  /// @throws std::invalid_argument if an option is out of range, excludes another, or asks for what the model does not
  /// have; for a decoder-only network.
  void check_options(const TranslationOptions& options) const;

  /// One result per text, in order. As many calls at once as `parallel_for` allows.
  std::vector<Translation> translate(const std::vector<std::string>& texts, const TranslationOptions& options,
                                     const TranslationHooks& hooks = {}) const;

  /// The probability of each target given the source of the same number: a hypothesis with the target's text.
  /// Calls only should_stop of `hooks`.
  /// @throws BadText if one of them is longer than the learned positions, or than kMaxWholeTokens; Cancelled.
  std::vector<Hypothesis> score(const std::vector<std::string>& sources, const std::vector<std::string>& targets,
                                const TranslationOptions& options, const TranslationHooks& hooks = {}) const;

  /// Why LibTorch's operations run the model on the CPU, several times slower; empty if they do not.
  const std::string& slow_reason() const { return slow_reason_; }

  /// A text whose parts are translated and joined.
  struct Joined {
    size_t number;
    const std::vector<size_t>& ends;  ///< of the parts' translations, of a text that SourceCase restores
    Translation& translation;
  };
  /// Returns the text to stream for a part: `certain` are the first tokens of its translation, or all of them if
  /// `is_whole`. Nothing is returned where no text can be shown yet.
  using SoFar = std::function<std::optional<std::string>(const SourcePart& part, const Ids& certain, bool is_whole)>;

  /// One translation for each text. `complete` is called for each as soon as its parts are joined.
  std::vector<Translation> translate_parts(const SourceTexts& sources, const TranslationOptions& options,
                                           const TranslationHooks& hooks,
                                           const std::function<void(const Joined& joined)>& complete,
                                           const SoFar& so_far) const;

  /// The probabilities of the parts' prefixes, each all of a text's translation: a hypothesis with the text of the same
  /// number. Texts without parts have probability 1. Of the search options, length penalty and alignments count.
  std::vector<Hypothesis> score_parts(const SourceTexts& sources, const std::vector<std::string>& texts,
                                      const TranslationOptions& options, const TranslationHooks& hooks) const;

 private:
  // True for a long text that has tags or protected spans, and is cut into pieces, so that they can be taken out.
  bool is_cut(const std::string& text, const TranslationOptions& options) const;
  // translate() of texts that are not cut.
  std::vector<Translation> translate_whole(const std::vector<std::string>& texts, const TranslationOptions& given,
                                           const TranslationHooks& hooks) const;
  // Translates texts again, with numbers for the names of which their translations have only pieces, and takes the
  // results that have no more warnings.
  void mend_names(const std::vector<std::string>& texts, const TranslationOptions& options, const Glossary& glossary,
                  const std::unordered_set<std::string>& in_terms, const TranslationHooks& hooks,
                  std::vector<Translation>& translations) const;
  // translate_whole() of texts whose tags and spans have been taken out.
  std::vector<Translation> translate_tagged(const std::vector<TaggedText>& tagged, const TranslationOptions& options,
                                            const Glossary& glossary, const TranslationHooks& hooks) const;
  // Tells which characters the source's vocabulary lacks; empty if it lacks none.
  IsUnknown is_unknown() const;
  // The options' glossary with its source terms as the model reads them, if it reads any in another way.
  std::optional<Glossary> read_glossary(const TranslationOptions& options) const;
  // The text with the tags and protected spans that the options take out, but for spans that `prefix` has or a term of
  // `glossary` overlaps. `spans` gets the protected ones.
  TaggedText tagged_text(const std::string& text, const std::string& prefix, const TranslationOptions& options,
                         const Glossary& glossary, std::vector<ProtectedSpan>& spans) const;
  // Completes the search options with the head for alignments, if they leave it open.
  SearchOptions with_head(SearchOptions search) const;
  bool splits_sentences(const TranslationOptions& options) const;
  SentenceSplitter splitter_for(const TranslationOptions& options) const;
  // Aligns words, restores the source's case and forms and puts tags back as the options say, finds the words' final
  // places, and drops alignments of tokens that the options do not ask for, which grow with the square of the text's
  // length.
  void finish_text(const TaggedText& tagged, const TranslationOptions& options, const SourceTexts& sources,
                   const SourceCase& cases, const WrittenText& written, const Joined& joined) const;
  // Fills the translations of a batch of parts.
  void search_batch(const std::vector<TranslatedPart>& batch, const TranslationOptions& options, CallHooks& call_hooks,
                    const SoFar& so_far) const;
  // Checks the translations of a batch of parts (TranslationOptions::guard) and rates them.
  void judge_batch(const std::vector<TranslatedPart>& batch, const TranslationOptions& options,
                   CallHooks& call_hooks) const;
  // Fills Hypothesis::confidence and, with the spaces around them, Hypothesis::words of a part's translation.
  void rate(Translation& translation) const;
  // Maximum number of tokens of a source or a target of score().
  int64_t most_scored_tokens() const { return std::min(most_tokens_, kMaxWholeTokens); }
  bool can_score(const std::string& source, const std::string& target, const LanguageTokens& languages) const;
  // Puts the candidates of a batch of parts into the order that the reverse model gives them. Those that are too long
  // for it come last.
  void rerank(const std::vector<TranslatedPart>& batch, const TranslationOptions& options) const;

  std::shared_ptr<const StepModel> model_;
  Architecture architecture_;
  std::string slow_reason_;
  int64_t most_tokens_;
  Tokenizer tokenizer_;
  Expectations expected_;
  SentenceSplitter splitter_;  // of the training text's language
  bool splits_sentences_ = true;
  std::optional<ConfidenceCurve> curve_;
  UnknownCharacters unknown_characters_;        // of the source
  bool reads_digits_;                           // all of them
  std::unordered_set<std::string> learned_;     // protected spans that are left to the models
  std::shared_ptr<const Shortlist> shortlist_;  // where there is one
  bool shortlist_is_asked_for_ = false;
  std::unique_ptr<const TranslationEngine> reverse_;  // likewise
  int64_t alignment_layer_ = 0, alignment_head_ = 0;  // as in SearchOptions
  ParallelFor parallel_for_;
};

}  // namespace v0
}  // namespace transmute
