// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace transmute {
inline namespace v0 {

/// Languages as a set of bits; bit 0 stands for what holds in all of them.
using LanguageSet = uint64_t;

/// Kinds of words before a full stop, and of words after it.
enum class WordKind {
  before,        ///< an abbreviation that something follows
  number,        ///< an abbreviation that a number follows
  abbreviation,  ///< one that may also end a sentence
  closing,       ///< an abbreviation that closes an enumeration
  start,         ///< a word that begins sentences
  ending,        ///< the end of abbreviations
};

/// The code under which sentence_words.cpp lists a language: "de" for "de-AT", "deu" and "deu_Latn". A language that it
/// does not list has its usual code; what is no language has none.
std::string language_code(const std::string& name);

/// @throws std::invalid_argument that names `option` if `name` is neither empty nor the name of a language.
void check_language(const std::string& option, const std::string& name);

/// The set of this language alone; what holds in all languages if it has no words.
LanguageSet language_set(const std::string& code);

/// The code of the only language in the set; empty if there is none or more than one.
std::string code_of(LanguageSet languages);

/// The languages of most of the text's frequent words.
LanguageSet guess_languages(const std::string& text);

/// `word`: without the full stop at its end, in lower case.
bool is_word(std::string_view word, WordKind kind, LanguageSet languages);

/// True if ICU lists `word`, as it is written, among the abbreviations of one of the languages.
bool is_listed_by_icu(std::string_view word, LanguageSet languages);

/// True if the set was guessed from a single word.
bool is_uncertain(LanguageSet languages);

/// True if a number with a full stop may be an ordinal in one of the languages.
bool has_ordinals(LanguageSet languages);

/// True if `mark`, an ASCII character other than ".", "!" and "?", ends sentences in one of the languages.
bool ends_sentences(char mark, LanguageSet languages);

/// Abbreviations of each language and words that begin its sentences, in lines that the source file describes.
extern const char* const kSentenceWords;

}  // namespace v0
}  // namespace transmute
