// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/export.h>
#include <transmute/network/precision.h>
#include <transmute/network/search_options.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A vocabulary shortlist: restricts a translation to the likely target tokens of its source tokens. This shortens the
/// decoder's output product, and helps most with a large vocabulary. make_shortlist writes the table.
struct ShortlistOptions {
  /// File of lines "target-token source-token probability"; "none" (kNoShortlist): the whole vocabulary; empty: the
  /// shortlist that the model's files have, if any, which is used on CPUs only, and not for samples or with a
  /// constraint.
  std::string table{};
  int64_t best = 100;      ///< maximum number of target tokens per source token
  int64_t frequent = 100;  ///< number of tokens from the start of the vocabulary to allow always
};

/// Options for opening a model.
struct TranslatorOptions {
  std::string device = "cpu";  ///< cpu, cuda, cuda:N or auto
  int threads = 0;             ///< worker threads on the CPU, with one batch each; 0: one per core
  /// Numeric type of the matrix products. Without a value: the type in which all models are stored if the device is
  /// fast at it, otherwise float32. On the CPU, the translation of a text does not depend on the other texts of the
  /// call, in any precision.
  std::optional<Precision> precision{};
  /// Further models with the same tokenizer. The probabilities of all models are averaged.
  std::vector<std::string> ensemble{};
  /// Used by translate_batch() but not by score_batch(). Probabilities are normalized over the shortlist. Cannot be
  /// combined with SearchOptions::constraint.
  ShortlistOptions shortlist{};
  /// A model of the opposite direction, for TranslationOptions::rerank. Its tokenizer may be another one, and it may be
  /// the same model where that translates in both directions. Empty: none.
  std::string reverse_model{};
  /// Map the weights of model folders instead of reading them: a model opens at once, and processes share its memory.
  /// Its files must then be replaced by renaming, not overwritten, while it is in use.
  bool map_weights = true;
  /// Texts, prefixes, targets and translations are lists of the vocabulary's pieces with spaces between them, languages
  /// included, for applications with a tokenizer of their own. The pieces of a prefix count as certain: their
  /// probability is 1. SentenceSplitting, Guard, Protection and LetterCase, which are for plain text, have no effect.
  bool listed_pieces = false;
};

/// Treatment of a text of more than TranslationOptions::max_source_tokens.
enum class LongTexts {
  split,    ///< translate it in parts, cut at sentence, clause or word boundaries, and join them
  refused,  ///< throw TextTooLong
};

/// Treatment of a text in capitals, or with a capital at each word, that the model cannot read: a vocabulary that was
/// learned from text in ordinary case breaks such words up into letters.
enum class LetterCase {
  adapted,  ///< translate it in ordinary case, and give the translation the case of the source
  kept,     ///< translate it as it is
};

/// Thrown for a text that cannot be processed, such as one that is longer than a limit.
class TRANSMUTE_API BadText : public std::invalid_argument {
 public:
  /// `text`: index of the text in the call. `reason`: a sentence about it.
  BadText(size_t text, const std::string& reason)
      : std::invalid_argument("text " + std::to_string(text + 1) + ": " + reason), text_(text), reason_(reason) {}
  /// Index of the text in the call. Further texts may be bad as well.
  size_t text() const { return text_; }
  /// The message without the number of the text, for applications that number texts in their own way.
  const std::string& reason() const { return reason_; }

 private:
  size_t text_;
  std::string reason_;
};

/// Thrown for a text of more than TranslationOptions::max_source_tokens with LongTexts::refused.
class TRANSMUTE_API TextTooLong : public BadText {
 public:
  using BadText::BadText;
};

/// Maximum number of tokens of a text that must be computed as a whole, in time and memory quadratic in its length: a
/// prompt, a text to score, and a text split into parts if its alignment is requested.
constexpr int64_t kMaxWholeTokens = 8192;

/// The languages of a translation by any of their names: "en", "pt-BR", "deu", "deu_Latn". Empty: not known.
struct LanguagePair {
  std::string source{};  ///< of the texts
  std::string target{};  ///< of the translations
};

/// A required translation of a source term.
struct GlossaryEntry {
  std::string source;  ///< one or more words of the source language
  std::string target;  ///< text that the translation must contain, normalized as the model's tokenizer normalizes text
};

/// Largest MbrOptions::candidates and RerankOptions::candidates.
constexpr int64_t kMaxCandidates = 1000;

/// Similarity of two translations, by segment, with one of them as the reference.
enum class MbrUtility {
  chrf,  ///< character n-gram F-score
  bleu,  ///< smoothed sentence BLEU with effective order
};

/// Minimum Bayes risk decoding (Kumar and Byrne, 2004): of several translations, chooses the one with the highest
/// expected similarity to all of them, itself included, instead of the most probable one. Each counts by its
/// probability; samples count equally.
struct MbrOptions {
  /// Number of translations to compare: the best of the search, whose beam is widened to this number if necessary, or
  /// samples if SearchOptions::sampling is set. 0: off.
  int64_t candidates = 0;
  MbrUtility utility = MbrUtility::chrf;  ///< similarity measure
};

/// Reranking with a model of the opposite direction (noisy-channel reranking; Yee et al., 2019, "Simple and Effective
/// Noisy Channel Modeling for Neural Machine Translation"): of several translations, chooses one that is probable given
/// the source, and that makes the source probable in turn.
struct RerankOptions {
  /// Number of translations to rerank: the best of the search, whose beam is widened to this number if necessary, or
  /// samples if SearchOptions::sampling is set. 0: off.
  int64_t candidates = 0;
  /// The score of a translation becomes its score in the search plus weight * log P(source | target) / penalty, with
  /// the search's length penalty for the length of the source.
  double weight = 0.3;
  /// The reverse model's name for the language of the translations, its source. Empty: as
  /// TranslationOptions::target_language, if it names languages.
  std::string source_language{};
  /// The reverse model's name for the language of the texts, its target. Empty: as TranslationOptions::source_language,
  /// if it names languages.
  std::string target_language{};
};

/// The treatment of a translation that looks wrong.
enum class Guard {
  off,    ///< nothing
  warn,   ///< fill Translation::warnings
  retry,  ///< also search again for a better one, in parts or with other options
};

/// The kinds of faults that a translation may have; name_of() has their names in this order.
enum class WarningKind {
  omission,     ///< words of the source are not translated
  length,       ///< it is much shorter or longer than translations of such texts are
  number,       ///< a number in digits is missing, or differs
  address,      ///< a web or mail address is missing
  placeholder,  ///< a placeholder such as %s or {name} is missing
  emoji,        ///< an emoji is missing
  repetition,   ///< the same words are repeated over and over
  copy,         ///< the source is repeated instead of translated
  script,       ///< words are not in the script of the target language
  bracket,      ///< a bracket or " is not one of a pair, or a bracket is empty, or added to the source's
};

/// The name of a kind, such as "omission".
TRANSMUTE_API const char* name_of(WarningKind kind);

/// A place of a translation that looks wrong.
struct TranslationWarning {
  WarningKind kind = WarningKind::omission;  ///< what looks wrong
  std::pair<size_t, size_t> source{};        ///< bytes [first, second) of the text; none if nothing in it corresponds
  std::pair<size_t, size_t> target{};        ///< bytes of the best translation; none if something is missing there
  std::string message{};                     ///< for people, for example `the number 15 became 51`
};

/// When the sentences of a text are translated separately and joined. A text of one sentence is not affected.
enum class SentenceSplitting {
  /// Unless the model was trained on lines with several sentences, as `train` has noted in the model folder, or a
  /// SearchOptions::constraint is about a whole output. A text whose target prefix has several sentences stays whole.
  automatic,
  always,  ///< whatever the model was trained on
  never,   ///< the model gets each text whole, up to max_source_tokens
};

/// The parts of a text that come back as they are.
enum class Protection {
  /// Placeholders (%s, {0}, {{x}}, &nbsp;, "\n" as programs write it, …), the signs of accelerators (&File, _File),
  /// addresses, paths, identifiers, emoji, markers such as a list's dash, the marks of *emphasized words*, and words
  /// with characters that the vocabulary lacks. Each comes back once.
  ///
  /// In place of a span that is a word, the model reads a number, which the span replaces in the translation. Spans
  /// that are no words are left out of what the model reads, as are all spans of a text whose translation lacks such a
  /// number; each of these goes to the words that attended to its neighbors, but after the target prefix.
  ///
  /// The model gets spans that its training text often had and kept (ProtectionProfile), spans that are part of a
  /// glossary's term or that the target prefix has, markers of a text with a target prefix, texts with a
  /// SearchOptions::constraint, and texts of more than kMaxWholeTokens bytes that are not split into sentences, have a
  /// target prefix, or are to be aligned.
  automatic,
  all,   ///< likewise, whatever the model has learned
  none,  ///< the model gets the text as it is
};

/// Options of a translation call.
struct TranslationOptions {
  SearchOptions search;  ///< beam search, sampling or alternatives
  /// Minimum Bayes risk decides the order of the results; scores remain the model's. Cannot be combined with
  /// SearchOptions::alternatives or TranslationHooks::on_text.
  MbrOptions mbr{};
  /// Orders the results by both models, and gives them both models' scores. Needs TranslatorOptions::reverse_model.
  /// Cannot be combined with mbr, SearchOptions::alternatives or TranslationHooks::on_text. No hook is called while the
  /// reverse model scores a batch. A candidate that is longer than the reverse model's learned positions, or than
  /// kMaxWholeTokens, has reverse_log_probability minus infinity and, unless RerankOptions::weight is 0, comes last; a
  /// text without any other candidate is refused.
  RerankOptions rerank{};
  int64_t batch_size = 64;                       ///< maximum number of sentences in a thread's batch
  int64_t batch_tokens = 4096;                   ///< maximum number of source tokens in a batch, padding included
  int64_t max_source_tokens = 256;               ///< a text with more source tokens is over-long
  LongTexts long_texts = LongTexts::split;       ///< treatment of over-long texts
  LetterCase letter_case = LetterCase::adapted;  ///< treatment of capitals; kept with SearchOptions::constraint
  /// Selects when the sentences of a text are translated separately. The white space between them is kept.
  SentenceSplitting split_sentences = SentenceSplitting::automatic;
  /// Language of the texts, such as "de", for finding their sentences. Empty: source_language if it names one, what the
  /// model knows about its training text, or the language that the words of each text suggest.
  std::string text_language{};
  /// The beginning of each translation: one prefix per text of the call (an empty one leaves it free), or no prefixes.
  /// Translations begin with them as the model's tokenizer normalizes them. With the glossary's terms, they may not be
  /// longer than the model's learned positions.
  std::vector<std::string> target_prefixes{};
  /// Texts that no translation contains, as far as it would be made of the same tokens; with
  /// TranslatorOptions::listed_pieces, the pieces themselves. Those of a prefix or the glossary are not suppressed.
  std::vector<std::string> suppress_sequences{};
  /// Source and target language for multilingual models, by the names in their vocabularies: eng_Latn (NLLB-200), en
  /// (M2M-100), deu (">>deu<<" of OPUS-MT, which has only a target language).
  std::string source_language{};
  std::string target_language{};  ///< see source_language
  /// If a text contains the words of an entry's `source`, its translation contains the `target`. Case counts, but for
  /// the capital that begins a sentence. In scripts without spaces, such as Han and Thai, any characters may be words.
  std::vector<GlossaryEntry> glossary{};
  /// Removes tags such as <b>, </b>, <br/> and {name} from the text, and inserts them into the translation at the words
  /// that attended to theirs. Cannot be combined with SearchOptions::constraint or TranslationHooks::on_text.
  bool inline_tags = false;
  /// Checks the best translation of each part of a text: that nothing is left out, numbers, addresses, placeholders and
  /// emoji are kept, nothing is repeated or merely copied, and the length and the script are those expected. Where
  /// something looks wrong, Guard::retry searches again with a wider beam, without repetitions, and in smaller parts,
  /// and keeps the result with the fewest warnings, of several the one found first. It only warns if the result is
  /// sampled, constrained, chosen by mbr or rerank, one of several, or streamed (TranslationHooks::on_text).
  Guard guard = Guard::retry;
  Protection protect = Protection::automatic;  ///< what of a text the model does not see
  /// Fills Hypothesis::word_alignment, whether or not SearchOptions::alignments fills Hypothesis::alignment.
  bool word_alignments = false;
};

/// A word of a translation.
struct WordConfidence {
  std::pair<size_t, size_t> place{};  ///< bytes [first, second) of Hypothesis::text
  double confidence = 0;              ///< probability that a reference translation has the word
};

/// One translation of a text.
struct Hypothesis {
  std::string text;                 ///< detokenized, in the case of the source (see LetterCase)
  double score = 0;                 ///< ranks the hypotheses, see SearchOptions::length_alpha and RerankOptions::weight
  double log_probability = 0;       ///< natural log of P(text | source), including the end token
  std::vector<std::string> tokens;  ///< pieces as the model wrote them, without the end token and the language's
  std::vector<double>
      token_scores;  ///< natural log-probability of each token; log_probability minus their sum is the end's
  /// With SearchOptions::alignments: alignment[i][j] is the cross-attention of token i to source token j, in the chosen
  /// layer and head. A row's sum is less than 1 by the attention to the source's end token and to its language's.
  std::vector<std::vector<float>> alignment;
  /// With TranslationOptions::word_alignments: links (source word, target word), counted from 0, in the order of the
  /// target. Words are separated by whitespace. With TranslationOptions::inline_tags, what was removed is not a word;
  /// otherwise each protected span is linked with itself.
  std::optional<std::vector<std::pair<size_t, size_t>>> word_alignment{};
  /// With TranslationOptions::rerank: natural log of P(source | text) under the reverse model.
  std::optional<double> reverse_log_probability{};
  /// The expected quality: sentence chrF against a reference translation, from 0 to 1. `train` calibrates it on the
  /// validation text; nothing if the model was not calibrated.
  std::optional<double> confidence{};
  /// The words of `text` in order; tags count in their places. Empty if the model was not calibrated.
  std::vector<WordConfidence> words{};
};

/// Largest size of Translation::unknown.
constexpr size_t kMostUnknown = 100;

/// The translations of one text. A text without content has one, which is empty and has probability 1.
struct Translation {
  std::vector<Hypothesis> hypotheses;  ///< best first, at least one
  /// Pieces of the source as the model read it (see LetterCase), without the end token and the language's, even if the
  /// text itself names its language (">>deu<<").
  std::vector<std::string> source_tokens;
  /// The words of the source that the vocabulary lacks, in their order, each once, at most kMostUnknown. Protected
  /// words (Protection) come last. The model read the others as "unknown": runs of characters, or words if the
  /// vocabulary has whole words.
  std::vector<std::string> unknown{};
  int parts = 1;      ///< number of parts into which the source was split, each of which was translated by itself
  int sentences = 1;  ///< number of sentences into which it was split; fewer than parts if some were over-long
  /// TranslationOptions::guard fills them, for the best hypothesis: at most 100 of each kind, the last of which then
  /// says that there are more.
  std::vector<TranslationWarning> warnings{};
};

/// Callbacks to follow a call and to stop it. They run on the translator's threads, but never two at a time for one
/// call. An exception from a callback ends the call. A callback may translate, too: its own thread then does all of the
/// work.
struct TranslationHooks {
  /// Streams a translation: `so_far` is the part of text number `text`'s best translation that can no longer change.
  /// Called for each further token of its first sentence that is not finished, or once for a sentence that is
  /// translated in another case (see LetterCase). The last call for a text has its whole translation, and is the only
  /// one if the text has protected spans (see Protection). Not called for texts without content that the model gets.
  std::function<void(size_t text, const std::string& so_far)> on_text{};
  /// Called after each finished text that has content. Texts without content count as done from the beginning.
  std::function<void(size_t done, size_t total)> on_progress{};
  /// Called after every token, and before each part of a text is joined to the others. If it returns true, the call
  /// ends with Cancelled within one decoding step.
  std::function<bool()> should_stop{};
  /// Called for each text after each of its tokens, and before each of its parts is joined to the others. If it returns
  /// true, that text is abandoned: its translation is empty and has probability 0, while the others continue. For calls
  /// that serve several users.
  std::function<bool(size_t text)> is_unwanted{};
};

}  // namespace v0
}  // namespace transmute
