// SPDX-License-Identifier: Apache-2.0
#include <transmute/serving/detection.h>

#include <cld2/public/compact_lang_det.h>
#include <cld2/public/encodings.h>

#include <algorithm>
#include <stdexcept>

namespace transmute {
inline namespace v0 {

namespace {

// "en" of "en-US" and "en_US"; Norwegian's two written forms are "no" to the detector.
std::string base_of(const std::string& code) {
  const std::string base = code.substr(0, code.find_first_of("-_"));
  return base == "nb" || base == "nn" ? "no" : base;
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
    const std::string base = base_of(CLD2::LanguageCode(found[i]));
    const auto same =
        std::find_if(languages.begin(), languages.end(), [&](const auto& code) { return base_of(code) == base; });
    if (same != languages.end()) detected.push_back({*same, static_cast<double>(percent[i])});
  }
  if (detected.empty()) detected.push_back({languages.front(), 0});
  return detected;
}

}  // namespace v0
}  // namespace transmute
