// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <transmute/text/types.h>

#include <string>

namespace transmute {
inline namespace v0 {

/// True if a translation between these languages may declare the target's: both are known, and differ.
bool can_declare(const LanguagePair& languages);

/// A translated page of HTML that declares the target language where it declared the source's: in the attributes lang
/// and xml:lang. A declaration with a region gets one. What is not translated, as in code and by translate="no", keeps
/// its language. The page as a whole gets the target's direction of writing.
std::string page_in_language(std::string page, const LanguagePair& languages);

/// The same for the XML of Office files and of books: their spelling checkers, and programs that read aloud, go by it.
/// Word and OpenDocument name one language each for Western, Asian and complex scripts; if the target's script is of
/// another kind than the source's, any language of its kind becomes the target's. The target's direction and formats
/// are those of xml_in_script().
/// @param name of the file, for messages
std::string xml_in_language(const std::string& name, std::string xml, const LanguagePair& languages);

/// XLIFF that names its target language, which version 2 demands of a file with translations. One that is there stays.
std::string xliff_in_language(std::string xliff, const LanguagePair& languages);

/// A catalog of GNU gettext whose header names the target language in place of the source's or of none.
std::string po_in_language(std::string po, const LanguagePair& languages);

/// A catalog of Rails whose only key at the top, the source language, is the target's.
std::string yaml_in_language(std::string yaml, const LanguagePair& languages);

/// A catalog of Flutter whose "@@locale" was the source language.
std::string json_in_language(std::string json, const LanguagePair& languages);

}  // namespace v0
}  // namespace transmute
