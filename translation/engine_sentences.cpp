// SPDX-License-Identifier: Apache-2.0
#include <transmute/formats/text_profile.h>
#include <transmute/text/sentence_language.h>
#include <transmute/translation/engine.h>

namespace transmute {
inline namespace v0 {

void TranslationEngine::use(const SentenceProfile& profile) {
  // Above this share of the training lines, a model has learned to translate several sentences at once.
  constexpr double kManyLinesWithSeveral = 0.25;
  splits_sentences_ = profile.lines_with_several < kManyLinesWithSeveral;
  splitter_ = SentenceSplitter(profile.language, profile.words);
}

SentenceSplitter TranslationEngine::sentence_splitter(const std::string& language) const {
  return language_code(language).empty() ? splitter_ : splitter_.with_language(language);
}

bool TranslationEngine::splits_sentences(const TranslationOptions& options) const {
  return options.split_sentences == SentenceSplitting::always ||
         (options.split_sentences == SentenceSplitting::automatic && splits_sentences_ && !options.search.constraint);
}

SentenceSplitter TranslationEngine::splitter_for(const TranslationOptions& options) const {
  check_language("text_language", options.text_language);
  return sentence_splitter(options.text_language.empty() ? options.source_language : options.text_language);
}

}  // namespace v0
}  // namespace transmute
