// SPDX-License-Identifier: Apache-2.0
#include <transmute/serving/api_answer.h>

#include <transmute/serving/task.h>
#include <transmute/text/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace transmute {
inline namespace v0 {

namespace {

// Returns the list itself, or its only member.
Json as_asked(const ApiRequest& request, Json list) {
  if (request.is_list) return list;
  return list.empty() ? Json("") : Json(list.front());
}

// Further translations of a text, each once: the second best of every segment, the third best and so on, as long as one
// has more.
Json alternatives_of(const Document& document, const std::vector<Translation>& translations) {
  size_t most = 0;
  for (const Translation& translation : translations) most = std::max(most, translation.hypotheses.size());
  std::set<std::string> seen{text_of(document, translations)};
  Json alternatives = Json::array();
  for (size_t rank = 1; rank < most; ++rank) {
    std::vector<std::string> texts;
    for (const Translation& translation : translations)
      texts.push_back(translation.hypotheses[std::min(rank, translation.hypotheses.size() - 1)].text);
    std::string text = document.with(texts);
    if (seen.insert(text).second) alternatives.push_back(std::move(text));
  }
  return alternatives;
}

Json json_of(const Hypothesis& hypothesis, bool with_alignment) {
  Json json{{"text", hypothesis.text},
            {"score", hypothesis.score},
            {"log_probability", hypothesis.log_probability},
            {"tokens", hypothesis.tokens},
            {"token_scores", hypothesis.token_scores}};
  add_confidence(hypothesis, json);
  if (with_alignment) json["alignment"] = hypothesis.alignment;
  return json;
}

}  // namespace

Json json_of(const DetectedLanguage& language) {
  return {{"confidence", language.confidence}, {"language", language.code}};
}

Json libretranslate_answer(const ApiRequest& request, const ApiResult& result) {
  Json texts = Json::array(), alternatives = Json::array();
  for (size_t i = 0; i < result.documents.size(); ++i) {
    texts.push_back(text_of(result.documents[i], result.translations[i]));
    alternatives.push_back(alternatives_of(result.documents[i], result.translations[i]));
  }
  Json answer{{"translatedText", as_asked(request, std::move(texts))}};
  if (request.alternatives > 0) answer["alternatives"] = as_asked(request, std::move(alternatives));
  Json detected = Json::array();
  for (const DetectedLanguage& language : result.detected) detected.push_back(json_of(language));
  if (!detected.empty()) answer["detectedLanguage"] = as_asked(request, std::move(detected));
  return answer;
}

Json v1_answer(const ApiRequest& request, const ApiResult& result) {
  Json translations = Json::array();
  for (size_t i = 0; i < result.documents.size(); ++i) {
    const Document& document = result.documents[i];
    Json segments = Json::array();
    for (size_t s = 0; s < document.segments().size(); ++s) {
      const Translation& translation = result.translations[i][s];
      Json hypotheses = Json::array();
      for (const Hypothesis& hypothesis : translation.hypotheses)
        hypotheses.push_back(json_of(hypothesis, request.options.search.alignments));
      segments.push_back({{"source", document.segments()[s]},
                          {"source_tokens", translation.source_tokens},
                          {"hypotheses", std::move(hypotheses)},
                          {"warnings", warnings_json(document.segments()[s], translation)}});
    }
    Json json{{"text", text_of(document, result.translations[i])}, {"segments", std::move(segments)}};
    if (!result.detected.empty()) json["detected"] = json_of(result.detected[i]);
    translations.push_back(std::move(json));
  }
  return {{"source", request.source}, {"target", request.target}, {"translations", std::move(translations)}};
}

}  // namespace v0
}  // namespace transmute
