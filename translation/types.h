// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/translation/precision.h>
#include <transmute/translation/search_options.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// A table that tells which target tokens a source's translation may be made of: less work for the decoder's last
/// product, and the better the larger the vocabulary is. make_shortlist makes tables.
struct ShortlistOptions {
  std::string table{};     ///< a file of lines "target source probability", of tokens; empty: every token, no table
  int64_t best = 100;      ///< translations of each source token at most
  int64_t frequent = 100;  ///< first tokens of the vocabulary added to each list
};

/// How a model is opened.
struct TranslatorOptions {
  std::string device = "cpu";  ///< cpu, cuda, cuda:N or auto
  int threads = 0;             ///< on the CPU, each with a batch of its own; 0 means one per core
  /// Numeric type of the matrix products. On the CPU, a text's translation is in each the same bytes whatever is
  /// translated beside it. Without a value: the one that all models are stored in, where the device is made for it,
  /// else float32.
  std::optional<Precision> precision{};
  /// Further models with the same tokenizer: the probabilities of all are averaged.
  std::vector<std::string> ensemble{};
  /// For translate_batch(), not for score_batch(): probabilities are then shares among a source's tokens.
  ShortlistOptions shortlist{};
};

/// What becomes of a text of more than TranslationOptions::max_source_tokens.
enum class LongTexts {
  split,    ///< translated in parts, cut at sentence, clause or word ends, and rejoined
  refused,  ///< TextTooLong
};

/// Thrown for a text of more than TranslationOptions::max_source_tokens, where LongTexts::refused forbids it.
class TextTooLong : public std::invalid_argument {
 public:
  TextTooLong(size_t text, const std::string& message) : std::invalid_argument(message), text_(text) {}
  /// Its place among the texts of the call. There may be others.
  size_t text() const { return text_; }

 private:
  size_t text_;
};

/// Tokens at most of a text that is computed as a whole, which takes time and memory with the square of its length: a
/// prompt to continue, a text to score, and a text in parts whose alignment is wanted.
constexpr int64_t kMaxWholeTokens = 8192;

/// How a term of the source language has to be translated.
struct GlossaryEntry {
  std::string source;  ///< words of the source language
  std::string target;  ///< what their translation contains
};

/// How good one translation is where another is the reference, by segment.
enum class MbrUtility {
  chrf,  ///< character n-gram F-score
  bleu,  ///< sentence BLEU, smoothed and of the orders that there are
};

/// Minimum Bayes risk: of several translations the one that is most like all of them, instead of the most probable one
/// (Kumar and Byrne, 2004).
struct MbrOptions {
  /// So many are compared: the best of the search, whose beam is at least as wide, or samples where
  /// SearchOptions::sampling is set. 0: off.
  int64_t candidates = 0;
  MbrUtility utility = MbrUtility::chrf;  ///< what tells how like two translations are
};

/// How texts are translated.
struct TranslationOptions {
  SearchOptions search;  ///< beam search, sampling or alternatives
  /// What puts the results of the search into order. Scores stay the model's. Not together with
  /// SearchOptions::alternatives, nor with TranslationHooks::on_text.
  MbrOptions mbr{};
  int64_t batch_size = 64;                  ///< sentences that a thread decodes together
  int64_t batch_tokens = 4096;              ///< and their padded source tokens at most
  int64_t max_source_tokens = 256;          ///< more make a text over-long
  LongTexts long_texts = LongTexts::split;  ///< what happens to over-long texts
  bool split_sentences = false;  ///< translate each sentence of a text by itself (Unicode's rules) and rejoin them
  /// Beginnings that the translations must have, one for each text of a call (empty: any), or none at all.
  std::vector<std::string> target_prefixes{};
  /// Languages of the texts and of their translations, for models of many languages, as their vocabularies call them:
  /// eng_Latn (NLLB-200), en (M2M-100), deu (for ">>deu<<" of OPUS-MT, which takes a target language alone).
  std::string source_language{};
  std::string target_language{};  ///< see source_language
  /// A translation contains `target` where its text contains the words of `source`, in the same letters.
  std::vector<GlossaryEntry> glossary{};
  /// Takes tags such as <b>, </b>, <br/> and {name} out of the text, and puts them back where the attention says that
  /// they belong. Not together with split_sentences, nor with TranslationHooks::on_text.
  bool inline_tags = false;
  /// Also Hypothesis::word_alignment, and for it SearchOptions::alignments.
  bool word_alignments = false;
};

/// One translation of a text.
struct Hypothesis {
  std::string text;                  ///< detokenized
  double score = 0;                  ///< ranks the hypotheses: log P / length penalty
  double log_probability = 0;        ///< natural logarithm of P(text | source), the end included
  std::vector<std::string> tokens;   ///< pieces, without the end
  std::vector<double> token_scores;  ///< natural log-probability of each token; the end's is what is left
  /// Where asked for (SearchOptions::alignments): for each token the attention to each source token, the last layer's
  /// cross-attention averaged over its heads. What a row lacks to 1 went to the end of the source.
  std::vector<std::vector<float>> alignment;
  /// Where asked for (TranslationOptions::word_alignments): links (source word, target word), both from 0, in the order
  /// of the target. Words are what stands between blanks in the text to translate and in `text`; tags that
  /// TranslationOptions::inline_tags takes out are none.
  std::optional<std::vector<std::pair<size_t, size_t>>> word_alignment{};
};

/// The hypotheses of one input line, best first. An input without content has one, empty, with probability 1.
struct Translation {
  std::vector<Hypothesis> hypotheses;      ///< best first, at least one
  std::vector<std::string> source_tokens;  ///< pieces of the input, without the end
  int parts = 1;  ///< into how many the input was split (too long, or sentences); from 2 on there is one hypothesis
};

/// What a caller can watch and stop while its texts are translated. The functions are called from the translator's
/// threads, but never two at once for one call; what they throw ends the call.
struct TranslationHooks {
  /// Text `text` of the call as far as its best translation is certain, after each token more: a stream for people who
  /// read along. The last call for a text has the whole translation; texts without content have none.
  std::function<void(size_t text, const std::string& so_far)> on_text{};
  /// After each text that is done.
  std::function<void(size_t done, size_t total)> on_progress{};
  /// Asked after every token; true ends the call with Cancelled within one step of the decoder.
  std::function<bool()> should_stop{};
  /// Asked for each text after each of its tokens; true leaves that text, whose translation then is empty and has
  /// probability 0, and goes on with the others. For calls that work for several people.
  std::function<bool(size_t text)> is_unwanted{};
};

}  // namespace v0
}  // namespace transmute
