// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unicode/locid.h>

#include <string>

namespace transmute {
inline namespace v0 {

/// The usual code of a language that some programs call otherwise: "he" for the detector's "iw", "pt-BR" for Argos
/// Translate's "pb"; any other as it is.
std::string standard_code(const std::string& code);

/// The language of a code, in three letters: "deu" of "de", "ger", "de-AT" and "deu_Latn". Norwegian's two written
/// forms are one, "nor". What comes before a region or a script, where no such language is known.
std::string language_of(const std::string& code);

/// The code with the script and the region that its language has where nothing else is said: "zh_Hans_CN" of "zh",
/// "zh_Hant_TW" of "zh-Hant".
icu::Locale likely_locale(const std::string& code);

/// The name of a language in English: "German" for "de"; a code that is not known as it is.
std::string language_name(const std::string& code);

}  // namespace v0
}  // namespace transmute
