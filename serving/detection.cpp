// SPDX-License-Identifier: Apache-2.0
#include <transmute/serving/detection.h>

#include <cld2/public/compact_lang_det.h>
#include <cld2/public/encodings.h>
#include <transmute/documents/html_references.h>
#include <transmute/documents/html_tokens.h>
#include <transmute/text/language_codes.h>
#include <transmute/text/spelling.h>
#include <unicode/uchar.h>
#include <unicode/uscript.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace transmute {
inline namespace v0 {

namespace {

constexpr size_t kMostWords = 40;  // number of words that settle a text's language
// The probability of a letter in a text of a language whose spelling is not known, and in one that the Compact Language
// Detector 2 finds: about as in a language whose spelling is known.
constexpr double kLetterOfUnknown = 1.0 / 60, kLetterOfDetected = 1.0 / 12;
constexpr double kWeightOfDetected = 4;  // added to the log probability of a language that the detector finds
// Words and letters of a text are not independent, so the sum of their log probabilities overstates the evidence.
constexpr double kSurenessOfSums = 0.5;

std::string likely_script(const std::string& code) {
  return likely_locale(code).getScript();
}

// The language that the detector calls so: one of the same script, else any.
std::vector<std::string>::const_iterator find_detected(const std::vector<std::string>& languages,
                                                       const std::string& code) {
  const std::string language = language_of(code), script = likely_script(code);
  const auto is_same = [&](const std::string& other) { return language_of(other) == language; };
  const auto same = std::find_if(languages.begin(), languages.end(), [&](const std::string& other) {
    return is_same(other) && likely_script(other) == script;
  });
  return same != languages.end() ? same : std::find_if(languages.begin(), languages.end(), is_same);
}

// The spelling of a language in the script that it is served in; null if none is known.
const Spelling* spelling_for(const std::string& code) {
  using LanguageAndScript = std::pair<std::string, std::string>;
  static const std::map<LanguageAndScript, std::string> known = [] {
    std::map<LanguageAndScript, std::string> codes;
    for (const std::string& language : spelled_languages())
      codes[{language_of(language), likely_script(language)}] = language;
    for (const char* language : {"bos", "srp"}) codes[{language, "Latn"}] = "hr";
    return codes;
  }();
  const auto found = known.find({language_of(code), likely_script(code)});
  return found == known.end() ? nullptr : &spelling_of(found->second);
}

// The Compact Language Detector 2 finds these shares of the text, by language; "" is for those that are not served.
std::map<std::string, double> detected_by_cld2(const std::string& text, const std::vector<std::string>& languages) {
  CLD2::Language found[3];
  int percent[3];
  double score[3];
  int text_bytes = 0;
  bool is_reliable = false;
  const CLD2::CLDHints no_hints{nullptr, nullptr, CLD2::UNKNOWN_ENCODING, CLD2::UNKNOWN_LANGUAGE};
  CLD2::ExtDetectLanguageSummary(text.data(), static_cast<int>(text.size()), true, &no_hints, CLD2::kCLDFlagBestEffort,
                                 found, percent, score, nullptr, &text_bytes, &is_reliable);
  std::map<std::string, double> shares;
  for (int i = 0; i < 3; ++i) {
    if (found[i] == CLD2::UNKNOWN_LANGUAGE) continue;
    const auto same = find_detected(languages, CLD2::LanguageCode(found[i]));
    if (same != languages.end())
      shares[*same] += percent[i] / 100.0;
    else if (is_reliable)
      shares[""] += percent[i] / 100.0;
  }
  return shares;
}

// The logarithm of the probability of a word in a language of which nothing is known but how probable its letters are
// on average. Ideographs and syllables are a hundred times as many as letters.
double log_probability_of_letters(const std::u32string& word, double probability) {
  double sum = std::log(probability);  // of the word's end
  for (const char32_t letter : word) {
    const auto c = static_cast<UChar32>(letter);
    UErrorCode error = U_ZERO_ERROR;
    const bool is_one_of_many =
        u_hasBinaryProperty(c, UCHAR_IDEOGRAPHIC) || uscript_getScript(c, &error) == USCRIPT_HANGUL;
    sum += std::log(is_one_of_many ? probability / 100 : probability);
  }
  return sum;
}

std::string text_of_html(const std::string& html) {
  std::string text;
  size_t at = 0;
  for (const HtmlToken& token : html_tokens(html)) {
    text += with_references_decoded(std::string_view(html).substr(at, token.begin - at)) + " ";
    at = token.end;
  }
  return text + with_references_decoded(std::string_view(html).substr(at));
}

// Percentages from the logarithms of the text's probabilities in each language, and in none of them. Best first;
// without those of less than 1, but for the best.
std::vector<DetectedLanguage> with_confidences(std::vector<DetectedLanguage> languages, double in_none) {
  double best = in_none, all = 0;
  for (const DetectedLanguage& language : languages) best = std::max(best, language.confidence);
  const auto sureness = [&best](double log_probability) {
    return std::exp(kSurenessOfSums * (log_probability - best));
  };
  for (const DetectedLanguage& language : languages) all += sureness(language.confidence);
  all += sureness(in_none);
  std::stable_sort(languages.begin(), languages.end(),
                   [](const auto& a, const auto& b) { return a.confidence > b.confidence; });
  for (DetectedLanguage& language : languages)
    language.confidence = std::round(100 * sureness(language.confidence) / all);
  const auto end = std::find_if(languages.begin() + 1, languages.end(),
                                [](const DetectedLanguage& language) { return language.confidence < 1; });
  languages.erase(end, languages.end());
  return languages;
}

}  // namespace

std::vector<DetectedLanguage> detect_language(const std::string& text, const std::vector<std::string>& languages,
                                              bool is_html) {
  if (languages.empty()) throw std::invalid_argument("there is no language to choose from");
  const std::string plain = is_html ? text_of_html(text) : text;
  const std::vector<std::u32string> words = spelled_words(plain, kMostWords);
  if (words.empty()) return {{languages.front(), 0}};
  std::map<std::string, double> shares = detected_by_cld2(plain, languages);
  const auto sum = [&](const auto& log_probability) {
    return std::accumulate(words.begin(), words.end(), 0.0,
                           [&](double all, const auto& word) { return all + log_probability(word); });
  };
  const auto by_letters = [&](const std::string& language) {
    const double letter = kLetterOfUnknown + shares[language] * (kLetterOfDetected - kLetterOfUnknown);
    return sum([&](const std::u32string& word) { return log_probability_of_letters(word, letter); });
  };
  std::vector<DetectedLanguage> detected;
  for (const std::string& language : languages) {
    const Spelling* spelling = spelling_for(language);
    const double log_probability = spelling == nullptr
                                       ? by_letters(language)
                                       : kWeightOfDetected * shares[language] +
                                             sum([&](const auto& word) { return spelling->log_probability(word); });
    detected.push_back({language, log_probability});
  }
  return with_confidences(std::move(detected), by_letters(""));
}

}  // namespace v0
}  // namespace transmute
