// SPDX-License-Identifier: Apache-2.0
#include <transmute/serving/detection.h>

#include <cld2/public/compact_lang_det.h>
#include <cld2/public/encodings.h>
#include <unicode/uloc.h>

#include <algorithm>
#include <array>
#include <stdexcept>
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

std::string likely_script(const std::string& code) {
  UErrorCode error = U_ZERO_ERROR;
  char whole[ULOC_FULLNAME_CAPACITY], script[ULOC_SCRIPT_CAPACITY];
  uloc_addLikelySubtags(standard_code(code).c_str(), whole, sizeof whole, &error);
  const int32_t length = U_FAILURE(error) ? 0 : uloc_getScript(whole, script, sizeof script, &error);
  return U_FAILURE(error) ? "" : std::string(script, static_cast<size_t>(length));
}

namespace {

// "eng" of "en", "eng" and "en-US", so that the codes of the models may have two letters or three. Norwegian's two
// written forms are one language to the detector.
std::string detected_as(const std::string& code) {
  const std::string base = standard_code(code.substr(0, code.find_first_of("-_")));
  const std::string letters = uloc_getISO3Language(base.c_str());
  if (letters == "nob" || letters == "nno") return "nor";
  return letters.empty() ? base : letters;
}

// Of the languages the one that the detector calls so: one of the same script, else any.
std::vector<std::string>::const_iterator find_detected(const std::vector<std::string>& languages,
                                                       const std::string& code) {
  const std::string language = detected_as(code), script = likely_script(code);
  const auto is_same = [&](const std::string& other) { return detected_as(other) == language; };
  const auto same = std::find_if(languages.begin(), languages.end(), [&](const std::string& other) {
    return is_same(other) && likely_script(other) == script;
  });
  return same != languages.end() ? same : std::find_if(languages.begin(), languages.end(), is_same);
}

}  // namespace

std::vector<DetectedLanguage> detect_language(const std::string& text, const std::vector<std::string>& languages,
                                              bool is_html) {
  if (languages.empty()) throw std::invalid_argument("there is no language to choose from");
  CLD2::Language found[3];
  int percent[3];
  double score[3];
  int text_bytes = 0;
  bool is_reliable = false;
  const CLD2::CLDHints no_hints{nullptr, nullptr, CLD2::UNKNOWN_ENCODING, CLD2::UNKNOWN_LANGUAGE};
  CLD2::ExtDetectLanguageSummary(text.data(), static_cast<int>(text.size()), !is_html, &no_hints,
                                 CLD2::kCLDFlagBestEffort, found, percent, score, nullptr, &text_bytes, &is_reliable);
  std::vector<DetectedLanguage> detected;
  for (int i = 0; i < 3; ++i) {
    if (found[i] == CLD2::UNKNOWN_LANGUAGE || percent[i] == 0) continue;
    const auto same = find_detected(languages, CLD2::LanguageCode(found[i]));
    if (same != languages.end()) detected.push_back({*same, static_cast<double>(percent[i])});
  }
  if (detected.empty()) detected.push_back({languages.front(), 0});
  return detected;
}

}  // namespace v0
}  // namespace transmute
