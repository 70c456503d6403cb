// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/glossary.h>
#include <transmute/text/letter_case.h>
#include <transmute/tokenizer/tokenizer.h>

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

/// Rewrites a text in capitals or in title case that a vocabulary falls apart on, letter by letter, since the text that
/// it was learned from had no such words. Each word gets the case in which the vocabulary has the fewest pieces for it,
/// so that names, acronyms and German nouns mostly keep theirs. Without a value: the text is in neither case, or the
/// vocabulary reads it as it is.
/// @param written of the text
/// @param language of the text, see case_locale
/// @param glossary its source terms stay as they are, as do the spans of fixed case
std::optional<RecasedText> in_readable_case(const SubwordModel& vocabulary, const std::string& text, TextCase written,
                                            const std::string& language, const Glossary& glossary);

/// Words in small letters, as in_known_letters() found them within sentences, without accents.
using SmallWords = std::unordered_set<std::string>;

/// Rewrites the words whose capitals the vocabulary lacks: a name within the text ("Úrsula") without the accent of its
/// capital, others in small letters, if it has those. Without a value: there are none.
/// @param language,glossary see in_readable_case
/// @param words gets the words but for the text's first, whose capital may be due to its place
std::optional<RecasedText> in_known_letters(const SubwordModel& vocabulary, const std::string& text,
                                            const std::string& language, const Glossary& glossary, SmallWords& words);

/// The bytes of a text, in order, whose letters mean something else in another case: placeholders, addresses and paths.
std::vector<std::pair<size_t, size_t>> spans_of_fixed_case(const std::string& text);

/// Gives a translation the case of its source.
/// @param language of the translation, see case_locale
/// @param kept bytes of the translation that stay as they are, in order
RecasedText in_case(const std::string& translation, TextCase wanted, const std::string& language,
                    const std::vector<std::pair<size_t, size_t>>& kept);

/// Gives these words a capital where a translation has them, with or without accents.
/// @param language,kept see in_case
RecasedText with_capitals_of(const SmallWords& words, const std::string& translation, const std::string& language,
                             const std::vector<std::pair<size_t, size_t>>& kept);

}  // namespace v0
}  // namespace transmute
