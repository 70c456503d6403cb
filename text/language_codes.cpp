// SPDX-License-Identifier: Apache-2.0
#include <transmute/text/language_codes.h>
#include <unicode/uloc.h>
#include <unicode/unistr.h>

#include <array>
#include <utility>

namespace transmute {
inline namespace v0 {

std::string standard_code(const std::string& code) {
  constexpr std::array<std::pair<const char*, const char*>, 4> kCodes{
      {{"iw", "he"}, {"jw", "jv"}, {"pb", "pt-BR"}, {"zt", "zh-Hant"}}};
  for (const auto& [other, standard] : kCodes)
    if (code == other) return standard;
  return code;
}

std::string language_of(const std::string& code) {
  const std::string base = standard_code(code.substr(0, code.find_first_of("-_")));
  std::string letters = uloc_getISO3Language(base.c_str());
  if (letters.empty()) letters = icu::Locale::createCanonical(base.c_str()).getISO3Language();
  if (letters == "nob" || letters == "nno") return "nor";
  return letters.empty() ? base : letters;
}

icu::Locale likely_locale(const std::string& code) {
  icu::Locale locale = icu::Locale::createCanonical(standard_code(code).c_str());
  UErrorCode error = U_ZERO_ERROR;
  locale.addLikelySubtags(error);
  return locale;
}

std::string language_name(const std::string& code) {
  UErrorCode error = U_ZERO_ERROR;
  UChar name[128];
  const int32_t length = uloc_getDisplayName(standard_code(code).c_str(), "en", name, 128, &error);
  if (U_FAILURE(error) || length == 0) return code;
  std::string text;
  icu::UnicodeString(name, length).toUTF8String(text);
  return text;
}

}  // namespace v0
}  // namespace transmute
