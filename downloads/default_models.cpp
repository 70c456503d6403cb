// SPDX-License-Identifier: Apache-2.0
#include <transmute/downloads/default_models.h>

namespace transmute {
inline namespace v0 {

// Models whose target language is not theirs alone, and so needs a tag, are not in the list.
const std::vector<DefaultModel>& default_models() {
  static const std::vector<DefaultModel> models{
      {"en-de", "hf:Helsinki-NLP/opus-mt-en-de"}, {"de-en", "hf:Helsinki-NLP/opus-mt-de-en"},
      {"en-fr", "hf:Helsinki-NLP/opus-mt-en-fr"}, {"fr-en", "hf:Helsinki-NLP/opus-mt-fr-en"},
      {"en-es", "hf:Helsinki-NLP/opus-mt-en-es"}, {"es-en", "hf:Helsinki-NLP/opus-mt-es-en"},
      {"en-it", "hf:Helsinki-NLP/opus-mt-en-it"}, {"it-en", "hf:Helsinki-NLP/opus-mt-it-en"},
      {"en-nl", "hf:Helsinki-NLP/opus-mt-en-nl"}, {"nl-en", "hf:Helsinki-NLP/opus-mt-nl-en"},
      {"en-ru", "hf:Helsinki-NLP/opus-mt-en-ru"}, {"ru-en", "hf:Helsinki-NLP/opus-mt-ru-en"},
      {"en-sv", "hf:Helsinki-NLP/opus-mt-en-sv"}, {"sv-en", "hf:Helsinki-NLP/opus-mt-sv-en"},
      {"en-da", "hf:Helsinki-NLP/opus-mt-en-da"}, {"da-en", "hf:Helsinki-NLP/opus-mt-da-en"},
      {"en-fi", "hf:Helsinki-NLP/opus-mt-en-fi"}, {"fi-en", "hf:Helsinki-NLP/opus-mt-fi-en"},
      {"en-cs", "hf:Helsinki-NLP/opus-mt-en-cs"}, {"cs-en", "hf:Helsinki-NLP/opus-mt-cs-en"},
      {"en-hu", "hf:Helsinki-NLP/opus-mt-en-hu"}, {"hu-en", "hf:Helsinki-NLP/opus-mt-hu-en"},
      {"en-uk", "hf:Helsinki-NLP/opus-mt-en-uk"}, {"uk-en", "hf:Helsinki-NLP/opus-mt-uk-en"},
      {"pl-en", "hf:Helsinki-NLP/opus-mt-pl-en"}, {"tr-en", "hf:Helsinki-NLP/opus-mt-tr-en"},
      {"zh-en", "hf:Helsinki-NLP/opus-mt-zh-en"}, {"ja-en", "hf:Helsinki-NLP/opus-mt-ja-en"},
      {"ko-en", "hf:Helsinki-NLP/opus-mt-ko-en"}, {"ar-en", "hf:Helsinki-NLP/opus-mt-ar-en"},
      {"de-fr", "hf:Helsinki-NLP/opus-mt-de-fr"}, {"fr-de", "hf:Helsinki-NLP/opus-mt-fr-de"},
      {"de-es", "hf:Helsinki-NLP/opus-mt-de-es"}, {"es-de", "hf:Helsinki-NLP/opus-mt-es-de"},
      {"fr-es", "hf:Helsinki-NLP/opus-mt-fr-es"}, {"es-fr", "hf:Helsinki-NLP/opus-mt-es-fr"},
  };
  return models;
}

std::string default_source(const std::string& pair) {
  for (const DefaultModel& model : default_models())
    if (pair == model.pair) return model.source;
  return "";
}

}  // namespace v0
}  // namespace transmute
