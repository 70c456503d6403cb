// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/common/threads.h>
#include <transmute/text/glossary.h>
#include <transmute/text/letter_case.h>
#include <transmute/text/readable_case.h>
#include <transmute/text/types.h>
#include <transmute/tokenizer/tokenizer.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Numbers of tokens at the beginning of a source and of its target that name the languages. These tokens are part of
/// the request: their probabilities count as 1, and results do not contain them.
struct ForcedTokens {
  size_t source = 0;
  size_t target = 0;
};

/// Maximum number of tokens of the glossary terms in one part's translation.
constexpr size_t kMaxTermTokens = 256;

/// The unit that is translated by itself: a text, a sentence of one, or a part of an over-long one.
struct SourcePart {
  size_t text;                    ///< number of the text
  std::string plain;              ///< its own text, in the case in which the model reads it
  Ids ids;                        ///< ids of `plain`, after the pieces that add_languages puts there
  std::vector<ByteSpan> spans{};  ///< bytes of the text, in the case in which it is read, of each token of `plain`
  Ids tag{};     ///< that the text names its language with (">>deu<<"), which is not in `plain`; or none
  Ids prefix{};  ///< ids that its translation begins with
  bool prefix_is_complete = false;  ///< they are all of its translation, which is only scored
  ForcedTokens forced{};            ///< their numbers in `ids` and `prefix`
  std::vector<Ids> terms{};         ///< ids that its translation contains; at most kMaxTermTokens tokens
  size_t begin = 0;                 ///< byte of the text, in the case in which it is read, at which `plain` begins
  /// The source's case, which its translation is given. mixed: `plain` is the source, and so is the translation's case.
  TextCase written = TextCase::mixed;
  std::vector<std::string> unknown{};  ///< Translation::unknown of this part
  bool prefix_is_recased = false;      ///< `prefix` is in another case than the caller's prefix, as `plain` is
  std::string gap{};                   ///< what is between the part before it and this one
  bool begins_sentence = true;
  bool begins_with_capital = false;  ///< the text as written; so does its translation where case or a term demands it
  bool item_begins_with_capital = false;  ///< the words after the number of an item or a heading, "1. " or "1.2. "
  bool lends_capital = false;             ///< its translation gets the capital that `plain` begins with
  bool has_tags = false;  ///< tags or protected spans were taken out of the text, and an alignment must place them
};

/// A text in parts; one without content has none.
struct SourceText {
  std::vector<SourcePart> parts;
  std::optional<RecasedText> recased{};  ///< the text as it is read, if any of it is read in another case

  /// Words of its sentences in ordinary case that are read in small letters, see in_known_letters
  SmallWords small_words{};

  /// True if the translation of a part gets another case than the model gives it.
  bool changes_case() const;
  /// The number of its sentences.
  int sentences() const;
  /// The bytes of the text, in the case in which it is read, that each of its tokens covers.
  std::vector<ByteSpan> spans() const;
};

/// The texts of a call, in order.
using SourceTexts = std::vector<SourceText>;

/// A text's own tokens, without a tag that names its language.
struct SegmentedSource {
  SegmentedText tokens;
  Ids tag{};         ///< ids that the text begins with, or none
  size_t begin = 0;  ///< byte of the text after the tag
};
SegmentedSource segment_source(const SubwordModel& tokenizer, const std::string& text);

/// A text as one part, however long it is.
SourcePart whole_source(const SubwordModel& tokenizer, const std::string& text, size_t number);

/// The tag that names the language of a text and of the sentences after it (">>deu<<"), as
/// TranslationOptions::target_language takes it; empty if the text begins with none that the tokenizer knows.
std::string leading_tag(const SubwordModel& tokenizer, const std::string& text);

/// @throws BadText with the languages of the vocabulary if the text begins with the tag of another one
void check_tag(const SubwordModel& tokenizer, const std::string& text, size_t number);

/// The bytes of each sentence of the text of this number.
using SentencesOf = std::function<std::vector<ByteSpan>(size_t text)>;

/// The sentences that are translated. A model that reads only marks and numbers, such as the full stop after a
/// placeholder, invents words. Without letters, a sentence therefore belongs to a neighbor on its line.
/// @param line_ends places of the text, in order, where a line ends besides those with a line feed
std::vector<ByteSpan> with_words(std::string_view text, const std::vector<ByteSpan>& sentences,
                                 const std::vector<size_t>& line_ends = {});

/// Tokenizes texts, in another case and split as the options say.
/// @param glossary that of the options; cuts fall into its source terms only where a term is longer than a part may be
/// @param sentences_of finds the sentences that become parts; null: each text is one
/// @throws std::invalid_argument if a text is not UTF-8; TextTooLong; BadText as check_tag().
SourceTexts encode_texts(const SubwordModel& tokenizer, const std::vector<std::string>& texts,
                         const TranslationOptions& options, const Glossary& glossary, const ParallelFor& parallel_for,
                         const SentencesOf& sentences_of = nullptr);

/// Makes the translation of a text, whose first part this is, begin with the prefix.
/// @param language of the prefix, see case_locale
/// @throws std::invalid_argument if it is not UTF-8; BadText if it is too long or has characters that the
/// tokenizer does not know.
void demand_prefix(SourcePart& part, const std::string& prefix, const SubwordModel& tokenizer,
                   const std::string& language = "");

/// The languages of a text and its translation, by the model's own names; see TranslationOptions.
struct LanguageNames {
  std::string source;
  std::string target;
};

/// The pieces that tell a model of many languages which ones a text and its translation are in.
struct LanguageTokens {
  Ids source;  ///< ids before the source
  Ids target;  ///< ids before the target
};

/// The most tokens that a source has before its own text: its language's.
inline int64_t most_language_tokens(const SubwordModel& source) {
  return source.languages() == LanguagePieces::none ? 0 : 1;
}

/// @throws std::invalid_argument for a language that the model does not have, naming those that it has; for one that is
/// named to a model that has none; and if a model of many languages is told of none.
LanguageTokens language_tokens(const LanguageNames& names, const Tokenizer& tokenizer);

/// The ids before a source that is only encoded: a target language matters only where it is one of them.
/// @throws as language_tokens; std::invalid_argument if a target language is named that the encoder is not told.
Ids encoder_language(const LanguageNames& names, const Tokenizer& tokenizer);

/// Puts them in front of a part and its prefix; of the source's, a text with a tag keeps its own.
void add_languages(SourcePart& part, const LanguageTokens& languages);

/// Demands the glossary's target terms where the part has the source terms, each once.
/// @throws std::invalid_argument if a term is not UTF-8 or has characters that the tokenizer does not know; BadText
/// if the terms of a part are too long together.
void demand_terms(SourcePart& part, const Glossary& glossary, const Tokenizer& tokenizer);

}  // namespace v0
}  // namespace transmute
